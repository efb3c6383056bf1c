/// A server's database: attributes in the order of their handles, and the values that it stores.
///
/// One database serves every client of a device. It is a value: its owner (a `LocalPeripheral`, a test) lends it to
/// each call of an ``ATTServer`` as `inout`, so a client reads what another one has written. The state of a single
/// client, its subscriptions and its prepared writes, is in ``ServerClient``.
package struct AttributeDatabase: Sendable {
    /// All attributes, in ascending order of handles; there may be gaps.
    package private(set) var attributes: [Attribute]

    /// All characteristics, in ascending order of handles.
    package private(set) var characteristics: [DatabaseCharacteristic]

    /// What has changed since the database was made.
    package internal(set) var history = DatabaseHistory()

    /// The place of each described service; empty if the attributes were given one by one.
    var placements: [ServicePlacement] = []

    /// The last handle of all services since they were last laid out together, also of those that were removed.
    var lastHandle = 0

    /// Makes a database from attributes, and from what is known about the characteristics among them.
    package init(attributes: [Attribute], characteristics: [DatabaseCharacteristic]) {
        self.attributes = []
        self.characteristics = []
        set(attributes, characteristics)
    }

    /// Replaces all attributes, and computes the Database Hash if there is one.
    mutating func set(_ attributes: [Attribute], _ characteristics: [DatabaseCharacteristic]) {
        self.attributes = attributes.sorted { $0.handle < $1.handle }
        self.characteristics = characteristics.sorted { $0.valueHandle < $1.valueHandle }
        for index in self.attributes.indices {
            guard case .databaseHash = self.attributes[index].content else { continue }
            self.attributes[index].content = .databaseHash(computedHash())
        }
    }
}

// MARK: - Looking up

extension AttributeDatabase {
    /// The attribute with this handle.
    package func attribute(at handle: UInt16) -> Attribute? {
        index(of: handle).map { attributes[$0] }
    }

    /// The attributes from one handle to another.
    package func attributes(from start: UInt16, through end: UInt16) -> ArraySlice<Attribute> {
        let first = firstIndex(from: start)
        return attributes[first...].prefix { $0.handle <= end }
    }

    /// The value handle of the first characteristic described with this name.
    package func valueHandle(of id: String) -> UInt16? {
        characteristics.first { $0.id == id }?.valueHandle
    }

    /// The characteristic that reports changes to clients, if the server has it.
    package var serviceChanged: DatabaseCharacteristic? {
        characteristics.first { $0.uuid == BluetoothUUID.Characteristics.serviceChanged && $0.configuration != nil }
    }

    /// The characteristic with this value handle.
    package func characteristic(at valueHandle: UInt16) -> DatabaseCharacteristic? {
        let index = characteristics.lowerBound { $0.valueHandle < valueHandle }
        guard index < characteristics.endIndex, characteristics[index].valueHandle == valueHandle else { return nil }
        return characteristics[index]
    }

    private func index(of handle: UInt16) -> Int? {
        let index = firstIndex(from: handle)
        return index < attributes.endIndex && attributes[index].handle == handle ? index : nil
    }

    /// The index of the first attribute at or above a handle.
    private func firstIndex(from handle: UInt16) -> Int { attributes.lowerBound { $0.handle < handle } }
}

extension Array {
    /// The index of the first element that is not below the one sought, in a sorted array.
    fileprivate func lowerBound(_ isBelow: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if isBelow(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

// MARK: - Stored values

extension AttributeDatabase {
    /// The stored value of an attribute; `nil` if there is no such attribute or its value is not stored here.
    package func value(at handle: UInt16) -> [UInt8]? {
        guard case .stored(let value)? = attribute(at: handle)?.content else { return nil }
        return value
    }

    /// Replaces a stored value, as the program does; permissions apply to clients only.
    ///
    /// If there is no such stored value, or it may not have the new one's length, nothing happens and the result is
    /// `false`.
    @discardableResult
    package mutating func store(_ value: [UInt8], at handle: UInt16) -> Bool {
        guard let index = index(of: handle), case .stored = attributes[index].content,
            attributes[index].allows(length: value.count)
        else { return false }
        attributes[index].content = .stored(value)
        return true
    }
}

extension Attribute {
    /// Whether a value from the program may have this length.
    fileprivate func allows(length: Int) -> Bool {
        hasFixedLength ? length == maximumLength : length <= maximumLength
    }
}
