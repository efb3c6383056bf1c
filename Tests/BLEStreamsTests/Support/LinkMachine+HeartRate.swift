import BLEProtocol

@testable import BLEStreams

extension LinkMachine {
    /// The measurement of the heart rate, in whatever service it is.
    static let heartRate = CharacteristicSelector.uuid(BluetoothUUID.Characteristics.heartRateMeasurement, service: nil)

    /// Subscribes to the heart rate for a consumer who does nothing with it.
    mutating func subscribeToHeartRate(_ output: inout Output) {
        let consumer = ValueConsumer(object: "of 2A37", deliver: { _ in }, finish: { _ in })
        _ = subscribe(Self.heartRate, indications: false, pass: nil, consumer, &output)
    }
}
