extension BluetoothUUID {
    /// The name that the Bluetooth SIG assigned, in English: `Heart Rate`; `nil` for UUIDs that are not known here.
    ///
    /// Services, characteristics, descriptors and declarations are known; the service of a member has that member's name.
    public var name: String? { short.flatMap { AssignedNames[$0] } }
}
