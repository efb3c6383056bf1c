import BLEProtocol
import BLERadio
import RadioContract
import Testing

@testable import BLELinux

/// When a program may end: once the kernel has answered all that it was asked.
@Suite(.timeLimit(.minutes(10))) struct ManagementIdleTests {
    private let kernel: KernelDouble

    init() throws { kernel = try KernelDouble() }

    private func whenIdle() -> Events<Void> {
        Events { [kernel] yield in kernel.management.whenIdle { yield(()) } }
    }

    @Test func `it is at once where nothing was asked`() async throws {
        #expect(await whenIdle().next() != nil)
    }

    @Test func `it is behind the answers, and those of what follows from them`() async throws {
        let management = kernel.management
        management.submit(ManagementReadMonitorFeatures()) { _ in
            management.submit(ManagementRemoveMonitor(handle: 1)) { _ in }
        }
        let idle = whenIdle()
        #expect(try await kernel.answer(with: [UInt8](repeating: 0, count: 12))?.opcode == .readMonitorFeatures)
        let removal = await kernel.next()
        #expect(removal?.opcode == .removeMonitor && idle.count == 0)
        try kernel.answer(to: .removeMonitor, .success, with: [1, 0])
        #expect(await idle.next() != nil)
    }

    @Test func `who waits no more isn't told`() async throws {
        kernel.management.submit(ManagementReadInformation()) { _ in }
        let (first, second) = (whenIdle(), whenIdle())
        first.activity.cancel()
        _ = try await kernel.answer(.failed)
        #expect(await second.next() != nil && first.count == 0)
    }
}
