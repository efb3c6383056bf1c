import BLEProtocol

/// What an operation of a link is about. Only an error puts it into words: `of 2A37 of C4:F2:17:1A:1D:BB`.
struct OperationObject: Sendable, CustomStringConvertible {
    enum Relation: String { case of, to }

    private let relation: Relation?
    private let attribute: CharacteristicSelector?
    private let peripheral: BluetoothAddress

    init(_ relation: Relation?, _ attribute: CharacteristicSelector?, _ peripheral: BluetoothAddress) {
        self.relation = relation
        self.attribute = attribute
        self.peripheral = peripheral
    }

    var description: String {
        let beginning = relation.map { "\($0) " } ?? ""
        return beginning + (attribute.map { "\($0) of " } ?? "") + "\(peripheral)"
    }
}
