import BLEDevices
import BLEStreams
import Testing

/// What devices say they support, and what navigators and clocks say.
@Suite struct FeatureTests {
    @Test func `a power meter's features are bits, two of which say whether it is one of several`() throws {
        try expectBothWays("0C020000", .cyclingPowerFeatures, [.wheel, .crank, .compensation])
        try expectBothWays("00002100", .cyclingPowerFeatures, [.measuresTorque, .distributed])
        let features: CyclingPowerFeatures = [.balance, .crankLength, .enhancedCompensation, .alone]
        try expectBothWays("01101800", .cyclingPowerFeatures, features)
        #expect(features.description == "balance, crank length, enhanced compensation, alone")
    }

    @Test func `a revolution's magnitudes are forces or torques, and never both`() throws {
        let crank = CyclingMeasurement.Revolutions(count: 300, eventTime: 1024)
        try expectBothWays(
            "17 2C01 0004 5A00 6400 F6FF",
            .cyclingPowerVector,
            CyclingPowerVector(crank: crank, firstAngle: 90, magnitudes: .forces([100, -10]), direction: .tangential),
            shortest: 7
        )
        try expectBothWays(
            "38 4000 F0FF",
            .cyclingPowerVector,
            CyclingPowerVector(magnitudes: .torques([2, -0.5]), direction: .lateral),
            shortest: 1
        )
        try expectBothWays("00", .cyclingPowerVector, CyclingPowerVector())
        let key = TypedCharacteristic.cyclingPowerVector
        let time = ReceptionTime(sinceEpoch: .zero, source: .simulation)
        for octets in [[0x0C, 1, 0], [0x04, 1]] as [[UInt8]] {
            #expect(throws: BLEError.self) { try key.value(of: CharacteristicValue(bytes: octets[...], time: time)) }
        }
        #expect(throws: BLEError.self) { try key.octets(of: CyclingPowerVector(magnitudes: .torques([2000]))) }
    }

    @Test func `medical devices tell what they detect`() throws {
        try expectBothWays("2600", .bloodPressureFeatures, [.cuffFit, .irregularPulse, .severalBonds])
        #expect(BloodPressureFeatures([.bodyMovement, .position]).description == "body movement, position")
        try expectBothWays("1104", .glucoseFeatures, [.lowBattery, .stripType, .severalBonds])
        #expect(GlucoseFeatures(rawValue: 0x8201).description == "low battery, time fault, bit 15")
        try expectBothWays("0C00", .oximeterFeatures, OximeterFeatures(supported: [.storage, .timestamp]))
        try expectBothWays(
            "5300 E001 030000",
            .oximeterFeatures,
            OximeterFeatures(supported: [.fast, .amplitudeIndex], measurementStatus: 0x1E0, deviceStatus: 3)
        )
        try expectBothWays("02", .temperatureType, .body)
        try expectBothWays("3C00", .measurementInterval, .seconds(60))
        try expectBothWays("FFFF", .measurementInterval, .seconds(65_535))
        let key = TypedCharacteristic.measurementInterval
        let refused = (0...UInt16.max).filter {
            (try? key.octets(of: .seconds($0))) != [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)]
        }
        #expect(refused.isEmpty, "whole seconds")
        for interval in [.seconds(65_536), .milliseconds(1500), .seconds(-1)] as [Duration] {
            #expect(throws: BLEError.self) { try key.octets(of: interval) }
        }
    }

    @Test func `scales tell their steps by number`() throws {
        var weight = WeightScaleFeatures(
            supported: [.timestamp, .bodyMassIndex],
            mass: MassResolution(rawValue: 7),
            height: HeightResolution(rawValue: 3)
        )
        try expectBothWays("BD010000", .weightScaleFeatures, weight)
        #expect(weight.mass.kilograms == 0.005 && weight.mass.pounds == 0.01)
        #expect(weight.height.metres == 0.001 && weight.height.description == "0.001 m or 0.1 in")
        weight.mass = MassResolution(rawValue: 0)
        try expectBothWays("85010000", .weightScaleFeatures, weight)
        #expect(weight.mass.description == "not specified")
        weight.mass = MassResolution(rawValue: 16)
        #expect(throws: BLEError.self) { try TypedCharacteristic.weightScaleFeatures.octets(of: weight) }
        let composition = BodyCompositionFeatures(
            supported: [.severalUsers, .basalMetabolism, .weight, .height],
            mass: MassResolution(rawValue: 3),
            height: HeightResolution(rawValue: 1)
        )
        try expectBothWays("069E0000", .bodyCompositionFeatures, composition)
        #expect(composition.supported.description == "several users, basal metabolism, weight, height")
    }

    @Test func `a navigator tells the way, how good its position is, and what it supports`() throws {
        var way = Navigation(bearing: 90, heading: 359.99, distance: 1200.5, vertical: -1.25, positionStatus: .measured)
        way.arrival = DateTime(year: 2026, month: 11, day: 25)
        (way.isToDestination, way.isAtWaypoint) = (true, true)
        try expectBothWays("CF00 2823 9F8C E52E00 83FFFF EA07 0B 19 00 00 00", .navigation, way)
        try expectBothWays("0000 0000 0000", .navigation, Navigation(bearing: 0, heading: 0))
        var quality = PositionQuality(positionStatus: .lastKnown)
        try expectBothWays("8001", .positionQuality, quality)
        (quality.beaconsInSolution, quality.beaconsInView, quality.timeToFirstFix) = (8, 11, 32.5)
        (quality.horizontalError, quality.verticalError) = (2.5, 4.25)
        (quality.horizontalDilution, quality.verticalDilution) = (1.4, 2)
        try expectBothWays("FF01 08 0B 4501 FA000000 A9010000 07 0A", .positionQuality, quality)
        let features: NavigationFeatures = [
            .speed, .distance, .place, .remainingDistance, .omission, .positionStatus,
        ]
        try expectBothWays("87001200", .navigationFeatures, features)
        #expect(NavigationFeatures([.arrival, .fixInterval]).description == "arrival, fix interval")
    }

    @Test func `a clock tells where it has its time from`() throws {
        var reference = ReferenceTimeInformation(source: .satellites, accuracy: .within(.seconds(1)), days: 2, hours: 3)
        try expectBothWays("02 08 02 03", .referenceTimeInformation, reference)
        reference = ReferenceTimeInformation(source: .unknown, accuracy: .unknown, days: 255, hours: 255)
        try expectBothWays("00 FF FF FF", .referenceTimeInformation, reference)
        reference.accuracy = .outOfRange
        try expectBothWays("00 FE FF FF", .referenceTimeInformation, reference)
        for difference in [.milliseconds(100), .seconds(32), .seconds(-1)] as [Duration] {
            reference.accuracy = .within(difference)
            #expect(throws: BLEError.self) { try TypedCharacteristic.referenceTimeInformation.octets(of: reference) }
        }
        let time = ReceptionTime(sinceEpoch: .zero, source: .simulation)
        let octets = CharacteristicValue(bytes: [7, 0, 0, 0], time: time)
        #expect(try TypedCharacteristic.referenceTimeInformation.value(of: octets).source == .unknown)
    }
}
