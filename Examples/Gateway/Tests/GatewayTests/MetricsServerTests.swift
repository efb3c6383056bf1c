import Glibc
import TestBroker
import Testing

@testable import Gateway

@Suite("The page for Prometheus")
struct MetricsServerTests {
    @Test("leaves its port when it is closed, even while it is asked")
    func port() async throws {
        let port = freePort()
        var answers: [Task<String, Never>] = []
        for number in 0..<5 {
            let (asked, ask) = AsyncStream<Void>.makeStream()
            let server = try MetricsServer(port: port) {
                ask.yield()
                // As long as a page of many peripherals takes.
                usleep(50_000)
                return "page \(number)"
            }
            let answer = Task.detached { page(port: port) }
            for await _ in asked { break }
            await server.close()
            answers.append(answer)
        }
        for answer in answers { _ = await answer.value }
    }
}
