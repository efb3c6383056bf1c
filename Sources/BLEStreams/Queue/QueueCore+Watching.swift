import BLERadio
import Synchronization

extension QueueCore {
    func report(_ progress: CommandProgress, of id: TurnOrder.ID) {
        state.withLock { state in
            guard let name = state.items[id]?.name else { return }
            state.items[id]?.progress = progress
            tell(state)
            if let handle = state.handles[id] { news.add { handle(.running(progress)) } }
            guard !state.progressWatchers.isEmpty else { return }
            var named = progress
            named.command = name
            news.add { [named, watchers = state.progressWatchers.all] in
                for watcher in watchers { watcher.send(named) }
            }
        }
        news.make()
    }

    /// Adds a snapshot to the news, under the lock, so that all watchers see one order. They hear it after the lock is
    /// released.
    func tell(_ state: State, ended: @autoclosure () -> (CommandQueue.Item, CommandQueue.Outcome)? = nil) {
        guard !state.watchers.isEmpty else { return }
        var contents = snapshot(state)
        contents.ended = ended().map { (item: $0, outcome: $1) }
        news.add { [contents, watchers = state.watchers.all] in for watcher in watchers { watcher.send(contents) } }
    }

    private func snapshot(_ state: State) -> Contents {
        var contents = Contents()
        if let id = state.order.inside.first?.id { contents.running = state.items[id] }
        for (id, _) in state.order.waiting { if let item = state.items[id] { contents.waiting.append(item) } }
        return contents
    }

    var progress: BLEStream<CommandProgress> {
        let subject = StreamSubject(operation: "queue progress", object: "of \(connection.object)")
        return BLEStream(subject, timeline: timeline, buffer: .newest(256)) { mailbox in
            let id = self.state.withLock { state in
                if state.isOver { self.news.add { mailbox.finish() } }
                return state.progressWatchers.add(mailbox)
            }
            self.news.make()
            return { _ = self.state.withLock { $0.progressWatchers.remove(id) } }
        }
    }

    var contents: BLEStream<Contents> {
        let subject = StreamSubject(operation: "queue contents", object: "of \(connection.object)")
        return BLEStream(subject, timeline: timeline, buffer: .newest(256)) { mailbox in
            let id = self.state.withLock { state in
                let now = self.snapshot(state)
                self.news.add { [isOver = state.isOver] in
                    mailbox.send(now)
                    if isOver { mailbox.finish() }
                }
                return state.watchers.add(mailbox)
            }
            self.news.make()
            return { _ = self.state.withLock { $0.watchers.remove(id) } }
        }
    }
}
