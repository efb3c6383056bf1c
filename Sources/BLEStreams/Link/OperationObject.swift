import BLEProtocol

/// The object of a link's operation; only an error puts it into words: `of 2A37 of C4:F2:17:1A:1D:BB`.
struct OperationObject: Sendable, CustomStringConvertible {
    enum Relation: String { case of, to }

    private enum Attributes: Sendable {
        case one(CharacteristicSelector)
        case all(BluetoothUUID)
        case several(Int)
    }

    private var relation: Relation?
    private let attributes: Attributes?
    let peripheral: BluetoothAddress

    init(_ relation: Relation?, _ attribute: CharacteristicSelector?, _ peripheral: BluetoothAddress) {
        self.relation = relation
        self.peripheral = peripheral
        attributes = attribute.map { .one($0) }
    }

    /// All attributes of a type.
    init(ofAll uuid: BluetoothUUID, _ peripheral: BluetoothAddress) {
        self.peripheral = peripheral
        relation = .of
        attributes = .all(uuid)
    }

    /// A number of attributes, named by their handles.
    init(ofHandles count: Int, _ peripheral: BluetoothAddress) {
        self.peripheral = peripheral
        relation = .of
        attributes = .several(count)
    }

    /// The same without the preposition.
    var target: OperationObject {
        var target = self
        target.relation = nil
        return target
    }

    var description: String {
        let beginning = relation.map { "\($0) " } ?? ""
        let middle = attribute.isEmpty ? "" : "\(attribute) of "
        return beginning + middle + "\(peripheral)"
    }

    /// The attributes alone; empty if the object is the peripheral itself.
    var attribute: String {
        switch attributes {
        case .one(let attribute)?: "\(attribute)"
        case .all(let uuid)?: "all \(uuid)"
        case .several(let count)?: "\(count) handles"
        case nil: ""
        }
    }
}
