import BLEDevices
import BLEStreams

/// The meanings of the standard's characteristics, by type: the one table for all commands, and for `Examples/Gateway`.
enum Decoders {
    /// A codec, and the unit of its value if that is a single number.
    private struct Decoder: Sendable {
        var uuid: BluetoothUUID
        var unit: String
        var decode: @Sendable (CharacteristicValue) throws -> Any

        init<Value>(_ key: TypedCharacteristic<Value>, _ unit: String = "") {
            uuid = key.uuid
            self.unit = unit
            decode = { try key.value(of: $0) }
        }
    }

    /// What octets of this type mean; `nil` if the type isn't in the table, or the octets aren't a valid value.
    static func decode(_ octets: some Collection<UInt8>, of uuid: BluetoothUUID) -> DecodedValue? {
        guard let decoder = table[uuid] else { return nil }
        // The time of receipt isn't part of its meaning.
        let time = ReceptionTime(sinceEpoch: .zero, source: .reading)
        let value = CharacteristicValue(bytes: Array(octets)[...], time: time)
        return (try? decoder.decode(value)).map { DecodedValue($0, unit: decoder.unit) }
    }

    private static let table: [BluetoothUUID: Decoder] =
        Dictionary((health + fitness + device + environment).map { ($0.uuid, $0) }) { first, _ in first }

    private static let health = [
        Decoder(.heartRateMeasurement), Decoder(.bodySensorLocation), Decoder(.temperatureMeasurement),
        Decoder(.intermediateTemperature), Decoder(.bloodPressureMeasurement), Decoder(.intermediateCuffPressure),
        Decoder(.glucoseMeasurement), Decoder(.glucoseMeasurementContext), Decoder(.spotCheckMeasurement),
        Decoder(.continuousOximeterMeasurement), Decoder(.weightMeasurement), Decoder(.bodyCompositionMeasurement),
        Decoder(.bloodPressureFeatures), Decoder(.glucoseFeatures), Decoder(.oximeterFeatures),
        Decoder(.weightScaleFeatures), Decoder(.bodyCompositionFeatures), Decoder(.temperatureType),
        Decoder(.measurementInterval), Decoder(.recordAccessControlPoint),
    ]

    private static let fitness = [
        Decoder(.cyclingMeasurement), Decoder(.cyclingPowerMeasurement), Decoder(.runningMeasurement),
        Decoder(.indoorBikeData), Decoder(.treadmillData), Decoder(.rowerData), Decoder(.crossTrainerData),
        Decoder(.stepClimberData), Decoder(.stairClimberData), Decoder(.locationAndSpeed),
        Decoder(.fitnessMachineFeatures), Decoder(.fitnessMachineStatus), Decoder(.trainingStatus),
        Decoder(.supportedSpeeds), Decoder(.supportedInclinations), Decoder(.supportedResistances),
        Decoder(.supportedHeartRates), Decoder(.supportedPowers), Decoder(.cyclingFeatures),
        Decoder(.runningFeatures), Decoder(.sensorLocation), Decoder(.cyclingPowerFeatures),
        Decoder(.cyclingPowerVector), Decoder(.cyclingPowerControlPoint), Decoder(.speedAndCadenceControlPoint),
        Decoder(.fitnessMachineControlPoint), Decoder(.navigationFeatures), Decoder(.navigation),
        Decoder(.positionQuality), Decoder(.navigationControlPoint),
    ]

    private static let device = [
        Decoder(.appearance), Decoder(.batteryLevel, "%"), Decoder(.batteryLevelStatus), Decoder(.currentTime),
        Decoder(.localTimeInformation), Decoder(.referenceTimeInformation), Decoder(.pnpID),
        Decoder(.systemID), Decoder(.manufacturerName), Decoder(.modelNumber), Decoder(.serialNumber),
        Decoder(.hardwareRevision), Decoder(.firmwareRevision), Decoder(.softwareRevision),
    ]

    private static let environment = [
        Decoder(.temperature, "°C"), Decoder(.humidity, "%"), Decoder(.pressure, "Pa"), Decoder(.dewPoint, "°C"),
        Decoder(.heatIndex, "°C"), Decoder(.windChill, "°C"), Decoder(.uvIndex), Decoder(.apparentWindSpeed, "m/s"),
        Decoder(.apparentWindDirection, "°"), Decoder(.trueWindSpeed, "m/s"), Decoder(.trueWindDirection, "°"),
        Decoder(.rainfall, "m"), Decoder(.irradiance, "W/m²"), Decoder(.carbonDioxide, "ppm"),
        Decoder(.elevation, "m"),
    ]
}
