/// Turns the kernel's running total of lost datagrams into how many were lost since it was last asked.
struct DropCounter {
    private var total: UInt32 = 0

    /// How many were lost since the last call. The total wraps around, so the difference does as well.
    mutating func lost(upTo newTotal: UInt32?) -> Int {
        guard let newTotal else { return 0 }
        defer { total = newTotal }
        return Int(newTotal &- total)
    }
}
