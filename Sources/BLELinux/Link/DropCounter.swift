/// Turns the kernel's running total of lost datagrams into the number lost since the last call.
struct DropCounter {
    private var total: UInt32 = 0

    /// The number lost since the last call. The total wraps around, and so does the difference.
    mutating func lost(upTo newTotal: UInt32?) -> Int {
        guard let newTotal else { return 0 }
        defer { total = newTotal }
        return Int(newTotal &- total)
    }
}
