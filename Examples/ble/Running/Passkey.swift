extension UInt32 {
    /// A passkey as people write it: six digits, also in groups.
    init?(passkey text: String) {
        let digits = text.filter { $0 != " " }
        guard digits.utf8.count == 6, digits.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        self.init(digits)
    }
}
