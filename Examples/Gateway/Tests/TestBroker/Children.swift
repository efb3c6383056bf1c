/// What runs beside a test's body.
public struct Child: Sendable {
    let run: @Sendable () async throws -> Void

    public init(_ run: @escaping @Sendable () async throws -> Void) { self.run = run }
}

/// Runs child tasks while a closure runs. The first child that fails ends the others and the closure, and its error is
/// thrown: nobody waits for what will never come.
///
/// - Parameter areCancelled: whether the children are cancelled when the closure has returned; otherwise their end is
///   waited for.
public func withChildren(
    _ children: [Child],
    areCancelled: Bool = true,
    _ body: @escaping @Sendable () async throws -> Void
) async throws {
    try await withThrowingTaskGroup(of: Bool.self) { group in
        for child in children {
            group.addTask {
                try await child.run()
                return false
            }
        }
        group.addTask {
            try await body()
            return true
        }
        while let isBody = try await group.next(), !isBody {}
        if areCancelled { group.cancelAll() } else { try await group.waitForAll() }
    }
}
