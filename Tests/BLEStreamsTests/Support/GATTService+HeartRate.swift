import BLEProtocol

extension GATTService {
    /// The heart rate, with its measurement, at this handle and the next three.
    static func heartRate(at handle: UInt16) -> GATTService {
        let configuration = Descriptor(uuid: BluetoothUUID(0x2902), handle: handle + 3)
        let characteristic = Characteristic(
            uuid: BluetoothUUID.Characteristics.heartRateMeasurement,
            properties: .notify,
            handle: handle + 1,
            valueHandle: handle + 2,
            endHandle: handle + 3,
            descriptors: [configuration]
        )
        return GATTService(
            uuid: .heartRate,
            handle: handle,
            endHandle: handle + 3,
            characteristics: [characteristic]
        )
    }
}
