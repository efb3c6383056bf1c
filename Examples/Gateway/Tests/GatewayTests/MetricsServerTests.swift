import Dispatch
import TestBroker
import Testing

@testable import Gateway

@Suite("The page for Prometheus", .timeLimit(.minutes(5)))
struct MetricsServerTests {
    @Test("leaves its port when it is closed, even while it is asked")
    func port() async throws {
        let port = freePort()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<5 {
                let (asked, ask) = AsyncStream<Void>.makeStream()
                let isClosing = DispatchSemaphore(value: 0)
                let server = try MetricsServer(port: port) {
                    ask.yield()
                    isClosing.wait()
                    return "page \(number)"
                }
                group.addTask { _ = await page(port: port) }
                for await _ in asked { break }
                async let closed: Void = server.close()
                isClosing.signal()
                await closed
            }
            try await group.waitForAll()
        }
    }
}
