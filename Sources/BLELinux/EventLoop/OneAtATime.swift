/// Something that is done once at a time: whoever wants it meanwhile has it done once more behind that.
struct OneAtATime: Sendable {
    private var isUnderWay = false
    private var mustRepeat = false

    /// Returns whether to begin.
    mutating func begin() -> Bool {
        mustRepeat = isUnderWay
        defer { isUnderWay = true }
        return !isUnderWay
    }

    /// Returns whether to begin once more, with ``begin()``.
    mutating func end() -> Bool {
        defer { (isUnderWay, mustRepeat) = (false, false) }
        return mustRepeat
    }
}
