extension WorldPlan {
    /// Takes away of a failing world whatever it doesn't need to fail in the same way, until nothing can go.
    ///
    /// - Parameters:
    ///   - outcome: how it fails.
    ///   - fails: runs a smaller one; answers whether it fails in the same way.
    public func shrunk(while fails: (WorldPlan) async throws -> Bool) async rethrows -> WorldPlan {
        var smallest = self
        var hasShrunk = true
        while hasShrunk {
            hasShrunk = false
            for part in smallest.parts where smallest.parts.contains(part) {
                let smaller = smallest.removing(part)
                if try await fails(smaller) {
                    smallest = smaller
                    hasShrunk = true
                }
            }
        }
        return smallest
    }
}
