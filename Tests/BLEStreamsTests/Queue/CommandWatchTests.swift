import Testing

@testable import BLEStreams

/// What a command's watchers are told, whichever thread tells it.
@Suite struct CommandWatchTests {
    @Test func `a state that is told late doesn't follow the end`() throws {
        let watch = CommandWatch<Int>()
        // As another thread, which was about to tell that the command runs.
        let waker = Waker { if case .ended = watch.state { watch.tell(.running(nil)) } }
        let mailbox = Mailbox<CommandQueue.CommandState>(policy: .unbounded, waker: waker)
        let leave = watch.add(mailbox)
        let cursor = mailbox.cursor { leave() }
        guard case .element(.waiting) = try cursor.poll() else {
            Issue.record("a watcher is told the present state first")
            return
        }
        watch.finish(.success(1))
        #expect(watch.state.description == "ended: done")
        var told: [String] = []
        while case .element(let state) = try cursor.poll() { told.append(state.description) }
        #expect(told == ["ended: done"])
        cursor.close()
    }
}
