extension BluetoothUUID {
    /// The name that the Bluetooth SIG assigned, in English: `Heart Rate`; `nil` for UUIDs that are not known here.
    ///
    /// The common services, characteristics, descriptors and declarations are known.
    public var name: String? { short.flatMap { AssignedNames[$0] } }
}
