/// The handles of a characteristic in the database.
package struct DatabaseCharacteristic: Hashable, Sendable {
    /// The name in its description.
    package var id: String
    /// The type of its service.
    package var serviceUUID: BluetoothUUID
    package var uuid: BluetoothUUID
    package var properties: Characteristic.Properties
    /// The handle of its value.
    package var valueHandle: UInt16
    /// The handle of its Client Characteristic Configuration, if it has one.
    package var configuration: UInt16?
    /// What a client needs to receive values.
    package var subscribing: AccessRequirement

    package init(
        id: String,
        serviceUUID: BluetoothUUID,
        uuid: BluetoothUUID,
        properties: Characteristic.Properties,
        valueHandle: UInt16,
        configuration: UInt16?,
        subscribing: AccessRequirement
    ) {
        self.id = id
        self.serviceUUID = serviceUUID
        self.uuid = uuid
        self.properties = properties
        self.valueHandle = valueHandle
        self.configuration = configuration
        self.subscribing = subscribing
    }
}
