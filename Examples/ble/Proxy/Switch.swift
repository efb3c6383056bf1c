import BLEStreams
import Synchronization

/// Something that is on until it is turned off, once, from anywhere.
final class Switch: Sendable {
    private struct State {
        var isOff = false
        var feeds: [BLEStream<Void>.Feed] = []
    }

    private let state = Mutex(State())

    /// Turns it off, and tells whoever waits for that.
    func turnOff() {
        let feeds = state.withLock { state in
            defer { state = State(isOff: true) }
            return state.feeds
        }
        for feed in feeds { feed.send(()) }
    }

    /// One value, when it is off.
    var off: BLEStream<Void> {
        BLEStream { feed in
            let isOff = self.state.withLock { state in
                if !state.isOff { state.feeds.append(feed) }
                return state.isOff
            }
            if isOff { feed.send(()) }
            return {}
        }
    }
}
