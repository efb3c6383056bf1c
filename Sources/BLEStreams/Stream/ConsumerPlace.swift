import Synchronization

/// Where a consumer begins and leaves in the values of a source that goes on without it: between two messages, or in
/// the middle of one that was given up and that nobody gets.
///
/// The source says where it begins, and reads where it leaves; ``BLEStream/assembled(until:maximumSize:)`` reads the
/// one and says the other. Both do so in the consumer's context, while it opens or closes the source.
@usableFromInline
final class ConsumerPlace: Sendable {
    /// The consumer: the same one for all iterations that ``BLEStream/retry(_:when:)`` begins for it.
    let consumer: Waker
    private let begins = Atomic(false)
    private let leaves = Atomic(false)
    private let others = Atomic(false)
    private let noted = Atomic(false)

    init(of waker: Waker) { consumer = waker.origin }

    var beginsInMessage: Bool {
        get { begins.load(ordering: .relaxed) }
        set { begins.store(newValue, ordering: .relaxed) }
    }

    var leavesInMessage: Bool {
        get { leaves.load(ordering: .relaxed) }
        set { leaves.store(newValue, ordering: .relaxed) }
    }

    /// Whether the consumer knows where it begins, and so says where it leaves: others take what comes.
    var isNoted: Bool {
        get { noted.load(ordering: .relaxed) }
        set { noted.store(newValue, ordering: .relaxed) }
    }

    /// Whether somebody else receives the same values now: then what the consumer leaves behind is kept for nobody. The
    /// source says so whenever it changes.
    var hasOthers: Bool {
        get { others.load(ordering: .relaxed) }
        set { others.store(newValue, ordering: .relaxed) }
    }
}
