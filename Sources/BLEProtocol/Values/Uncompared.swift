/// Something that a value carries and that makes it no other value: all are equal.
struct Uncompared<Value: Sendable>: Hashable, Sendable {
    var value: Value

    init(_ value: Value) { self.value = value }

    static func == (left: Self, right: Self) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}
