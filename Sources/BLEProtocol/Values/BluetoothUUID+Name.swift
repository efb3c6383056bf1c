extension BluetoothUUID {
    /// The name that the Bluetooth SIG assigned, in English: `Heart Rate`; `nil` for UUIDs without a name here.
    ///
    /// It covers services, characteristics, descriptors and declarations; a member's service has the member's name.
    public var name: String? { short.flatMap { AssignedNames[$0] } }
}
