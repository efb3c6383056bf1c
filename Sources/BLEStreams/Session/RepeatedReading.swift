import BLEProtocol
import BLERadio
import Synchronization

/// A value that is read each time its notifications are switched on or made anew, and then followed by notifications.
final class RepeatedReading: Sendable {
    private struct State {
        /// Counts the links: late results of an earlier one are dropped.
        var number = 0
        /// Whether the value was read on the present link; earlier notifications are superseded by it.
        var hasRead = false
        /// Whether the consumer has had a value: no gap comes before the first one.
        var hasBegun = false
        var cancel: (@Sendable () -> Void)?
    }

    private let selector: CharacteristicSelector
    private let session: SessionReference
    private let mailbox: Mailbox<CharacteristicValue>
    private let state = Mutex(State())

    init(of selector: CharacteristicSelector, _ session: SessionReference, _ mailbox: Mailbox<CharacteristicValue>) {
        self.selector = selector
        self.session = session
        self.mailbox = mailbox
    }

    /// Handles a notification, and reads.
    var consumer: SessionConsumer {
        SessionConsumer(
            put: { [self] values in state.withLock({ $0.hasRead }) && mailbox.put(burst: values).mustWake },
            lost: { [self] count in state.withLock({ $0.hasRead }) && mailbox.put(lost: count) },
            interrupted: { [self] gap in begins(behind: gap) && mailbox.put(gap) },
            wake: { [mailbox] in mailbox.wake() },
            switchedOn: { [self] in read() },
            finish: { [mailbox] in mailbox.finish(throwing: $0) }
        )
    }

    /// Behind a break of the link or a move, the value is read again, and contains what is notified before that.
    ///
    /// - Returns: whether the consumer is told of the gap.
    private func begins(behind gap: StreamGap) -> Bool {
        state.withLock { state in
            if gap.reason != nil { state.hasRead = false }
            return state.hasBegun
        }
    }

    private func read() {
        guard let link = session.session?.link else { return }
        let number = state.withLock { state in
            state.hasRead = false
            state.number += 1
            return state.number
        }
        let cancel = link.start(
            .characteristic(selector, anyOf: []) { ReadValue(handle: $0.valueHandle) },
            operation: "read",
            object: OperationObject(.of, selector, link.peripheral.address),
            finish: { [self] (outcome: Result<[UInt8], BLEError>) in
                guard state.withLock({ $0.number == number }) else { return }
                switch outcome {
                case .success(let octets):
                    mailbox.send(CharacteristicValue(bytes: octets[...], time: link.timeline.wallTime))
                    state.withLock { state in
                        state.hasRead = true
                        state.hasBegun = true
                    }
                // It is read again on the next link.
                case .failure(let error) where error.endsLink: break
                case .failure(let error): mailbox.finish(throwing: error)
                }
            }
        )
        let isOver = state.withLock { state in
            guard state.number == number else { return true }
            state.cancel = cancel
            return false
        }
        if isOver { cancel() }
    }

    /// Ends the reading.
    func stop() {
        let cancel = state.withLock { state in
            state.number += 1
            return state.cancel.take()
        }
        cancel?()
    }
}
