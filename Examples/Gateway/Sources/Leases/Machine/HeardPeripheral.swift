/// What a gateway knows about one peripheral.
struct HeardPeripheral: Equatable, Sendable {
    /// A record that was published and hasn't come back.
    struct Pending: Equatable, Sendable {
        var mark: Mark
        var sentAt: Milliseconds
        /// Whether the gateway may act by it once it has come back: it hasn't had to stop since.
        var proves = true
        /// When another one is published in its place; `nil` unless the broker has refused this one.
        var retryAt: Milliseconds?
    }

    /// The gateway's own tenure.
    struct Tenure: Equatable, Sendable {
        var epoch: Epoch
        /// The last record of it that came back and was valid.
        var mark: Mark
        /// When that one was sent; `nil`: a new one is necessary before the gateway acts.
        var provenAt: Milliseconds?
        let beganAt: Milliseconds
        var renewAt: Milliseconds
        var isActing = false
    }

    let id: PeripheralID

    // Its reception.
    /// In sixteenths of a dBm, smoothed.
    var level: Int
    var heardAt: Milliseconds
    /// Until when it is left to others: the gateway couldn't connect to it.
    var deferringUntil: Milliseconds = .min

    // Its topic.
    /// Until when nothing is claimed, and nobody acts; `nil`: the topic isn't subscribed.
    var listeningUntil: Milliseconds?
    /// Whether what the broker retained has come.
    var hasRetained = false
    /// The last record, valid or not: what the broker retains.
    var tail: Mark?
    /// The last valid record.
    var record: LeaseRecord?
    var recordAt: Milliseconds = 0
    /// Whether it came while the gateway followed the topic, and so is surely valid.
    var isWitnessed = false
    /// The highest epoch of all messages, of those of earlier connections too.
    var highest = Epoch.none
    /// The highest epoch by which a gateway may have acted.
    var acted = Epoch.none

    // What the gateway does.
    var pending: Pending?
    var tenure: Tenure?
    /// The last valid record of the tenure that the end of the connection ended.
    var former: Mark?
    var claimAt: Milliseconds?
    var betterSince: Milliseconds?
    var bidAt: Milliseconds = .min
    var noteAt: Milliseconds?
    var alarm: Milliseconds?

    init(id: PeripheralID, strength: Int, at now: Milliseconds) {
        self.id = id
        level = strength * 16
        heardAt = now
    }

    /// In dBm.
    var strength: Int { level / 16 }

    /// A quarter of what is new, three quarters of what was.
    mutating func hear(_ strength: Int, at now: Milliseconds) {
        level += (strength * 16 - level) / 4
        heardAt = now
    }

    /// The connection has ended, and with it what was known of the topic.
    mutating func forgetTopic() {
        if let tenure { former = tenure.mark }
        tenure = nil
        pending = nil
        listeningUntil = nil
        hasRetained = false
        tail = nil
        record = nil
        isWitnessed = false
        claimAt = nil
        betterSince = nil
        noteAt = nil
    }
}
