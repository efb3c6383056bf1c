import BLEDevices
import BLEProtocol

@testable import BLEStreams

extension FuzzTarget {
    /// The value of a standard characteristic, read as each that has a type: what is read is written, and read from it
    /// as the same.
    static let profiles = FuzzTarget("profiles", longest: 96, seeds: ProfileCheck.seeds) { octets in
        for check in ProfileCheck.all { try check.run(octets) }
    }
}

private struct ProfileCheck: Sendable {
    let run: @Sendable ([UInt8]) throws -> Void

    /// - Parameter variants: what a program may make of a value: it is written and read as the same, or refused.
    init<Value: Equatable & Sendable>(
        _ key: TypedCharacteristic<Value>,
        variants: @escaping @Sendable (Value) -> [Value] = { _ in [] }
    ) {
        run = { octets in
            guard let value = try? key.value(of: Self.received(octets)) else { return }
            _ = "\(value)"
            for value in [value] + variants(value) {
                // What was received may have no form of its own, such as a reserved number.
                guard let written = try? key.octets(of: value) else { continue }
                let again = try key.value(of: Self.received(written))
                // A number that is none is equal to nothing.
                try require(again == value || value != value, "\(value) is read as \(again) from \(written)")
            }
        }
    }

    private static func received(_ octets: [UInt8]) -> CharacteristicValue {
        CharacteristicValue(bytes: octets[...], time: ReceptionTime(sinceEpoch: .zero, source: .kernel))
    }

    static let all: [ProfileCheck] = [health, records, fitness, controls, device, environment].flatMap { $0 }

    private static let health = [
        ProfileCheck(.heartRateMeasurement), ProfileCheck(.bodySensorLocation), ProfileCheck(.heartRateControlPoint),
        ProfileCheck(.temperatureMeasurement) { value in
            _ = value.celsius
            return []
        },
        ProfileCheck(.intermediateTemperature), ProfileCheck(.temperatureType), ProfileCheck(.measurementInterval),
        ProfileCheck(.bloodPressureMeasurement), ProfileCheck(.intermediateCuffPressure),
        ProfileCheck(.bloodPressureFeatures), ProfileCheck(.spotCheckMeasurement),
        ProfileCheck(.continuousOximeterMeasurement), ProfileCheck(.oximeterFeatures),
        ProfileCheck(.weightMeasurement) { value in
            _ = value.kilograms
            var other = value
            other.height = other.height == nil ? 1 : nil
            return [other]
        },
        ProfileCheck(.weightScaleFeatures) { value in
            _ = (value.mass.kilograms, value.mass.pounds, value.height.metres, value.height.inches)
            var other = value
            other.mass = MassResolution(rawValue: 16)
            return [other]
        },
        ProfileCheck(.bodyCompositionMeasurement), ProfileCheck(.bodyCompositionFeatures),
    ]

    private static let records = [
        ProfileCheck(.glucoseMeasurement) { value in
            _ = value.concentration?.milligramsPerDecilitre
            var other = value
            other.concentration?.sampleType = 16
            return [other]
        },
        ProfileCheck(.glucoseMeasurementContext) { value in
            var (one, other) = (value, value)
            one.exerciseDuration = one.exerciseDuration == nil ? 1 : nil
            other.tester = other.tester.map { $0 + 16 }
            return [one, other]
        },
        ProfileCheck(.glucoseFeatures),
        ProfileCheck(.recordAccessControlPoint) { value in
            _ = (value.result(of: .requestCount(.all)), value.result(of: .report(.first)))
            return [.report(.between(.number(1), and: .time(DateTime(year: 2025, month: 1, day: 2))))]
        },
    ]

    private static let fitness = [
        ProfileCheck(.cyclingMeasurement) { value in
            _ = (value.speed(since: CyclingMeasurement(), circumference: 2), value.cadence(since: value))
            let first = CyclingMeasurement.Revolutions(count: 0, eventTime: 1)
            let other = CyclingMeasurement(wheel: first, crank: first)
            _ = (value.speed(since: other, circumference: 2), value.cadence(since: other))
            return []
        },
        ProfileCheck(.cyclingFeatures),
        ProfileCheck(.cyclingPowerMeasurement) { value in
            var other = value
            other.angles = CyclingPowerMeasurement.Extremes(maximum: 0x1000, minimum: 0)
            return [other]
        },
        ProfileCheck(.cyclingPowerFeatures), ProfileCheck(.cyclingPowerVector), ProfileCheck(.sensorLocation),
        ProfileCheck(.runningMeasurement), ProfileCheck(.runningFeatures), ProfileCheck(.indoorBikeData),
        ProfileCheck(.treadmillData), ProfileCheck(.rowerData), ProfileCheck(.crossTrainerData),
        ProfileCheck(.stepClimberData), ProfileCheck(.stairClimberData),
        ProfileCheck(.fitnessMachineFeatures) { value in
            _ = (value.measures.description, value.settings.description)
            return []
        },
        ProfileCheck(.fitnessMachineStatus) { _ in [.changed(.reset)] },
        ProfileCheck(.trainingStatus) { value in
            _ = value.part.description
            return []
        },
        ProfileCheck(.supportedSpeeds), ProfileCheck(.supportedInclinations), ProfileCheck(.supportedResistances),
        ProfileCheck(.supportedHeartRates), ProfileCheck(.supportedPowers),
    ]

    private static let controls = [
        ProfileCheck(.cyclingPowerControlPoint) { value in
            _ = (value.result(of: .compensateOffsetEnhanced), value.result(of: .requestCrankLength))
            return []
        },
        ProfileCheck(.speedAndCadenceControlPoint) { value in
            _ = value.result(of: .requestLocations)
            return []
        },
        ProfileCheck(.fitnessMachineControlPoint) { value in
            _ = value.result(of: .reset)
            return []
        },
        ProfileCheck(.navigationControlPoint) { value in
            _ = value.result(of: .requestRouteCount)
            return []
        },
    ]

    private static let device = [
        ProfileCheck(.batteryLevel) { [$0 + 256] },
        ProfileCheck(.batteryLevelStatus) { value in
            var other = value
            other.faults += 8
            return [other]
        },
        ProfileCheck(.currentTime) { value in
            _ = (value.dateTime.isDateKnown, value.dateTime < DateTime(year: 2025, month: 1, day: 2))
            _ = (value.dateTime.description, value.dateTime < value.dateTime)
            return []
        },
        ProfileCheck(.localTimeInformation) { value in
            _ = value.offset
            return []
        },
        ProfileCheck(.referenceTimeInformation) { value in
            var other = value
            other.accuracy = .within(.seconds(32))
            return [other]
        },
        ProfileCheck(.pnpID), ProfileCheck(.systemID), ProfileCheck(.manufacturerName),
    ]

    private static let environment = [
        ProfileCheck(.temperature) { [$0 + 1000] }, ProfileCheck(.humidity), ProfileCheck(.pressure),
        ProfileCheck(.dewPoint), ProfileCheck(.uvIndex), ProfileCheck(.apparentWindSpeed), ProfileCheck(.rainfall),
        ProfileCheck(.irradiance), ProfileCheck(.carbonDioxide), ProfileCheck(.elevation) { [$0 + 200_000] },
        ProfileCheck(.locationAndSpeed) { value in
            var other = value
            other.distance = other.distance.map { $0 + 2e6 }
            return [other]
        },
        ProfileCheck(.navigation), ProfileCheck(.navigationFeatures), ProfileCheck(.positionQuality),
    ]

    /// Every flag and none, each command and each answer of the control points, long and short, and texts.
    static let seeds: [[UInt8]] = {
        var seeds: [[UInt8]] = [Array("Acmé".utf8), [0x41, 0xC3], [2, 1, 0x41, 0xE2, 0x82]]
        for flags: [UInt8] in [[0, 0, 0], [0xFF, 0xFF, 0xFF], [0xFE, 0xFF, 0], [0x55, 0x05, 0], [0x2A, 0x0A, 0]] {
            for count in [0, 4, 12, 60] { seeds.append(flags + (0..<count).map { UInt8($0 + 1) }) }
        }
        for command: UInt8 in 0...0x15 {
            seeds.append([command, 1, 2, 3, 4, 5, 6])
            for outcome: UInt8 in [1, 2, 4] {
                seeds.append([0x20, command, outcome, 1, 2, 3, 4, 5, 6, 7])
                seeds.append([0x20, command, outcome])
            }
        }
        return seeds
    }()
}
