import Leases

/// A gateway of a world: its process, its clock, its disk and its side of the connection.
struct WorldGateway {
    /// The process; `nil` while it doesn't run.
    var machine: LeaseMachine?
    /// Whether there is a machine: to ask it itself would copy it.
    var isRunning = false
    /// Which start of it.
    var process: UInt32 = 0
    /// What was on the disk when it started.
    var restored: UInt64 = 0
    /// What is on the disk.
    var disk: UInt64 = 0
    var diskFullUntil: Int64 = 0
    var pausedUntil: Int64 = 0
    var linkAlarm: Int64 = .max

    // Its clock.
    var offset: Int64 = 0
    /// By how many millionths it runs fast.
    var error: Int64 = 0

    // Its connection.
    /// Which one: grows with each attempt.
    var connection: UInt32 = 0
    var isConnected = false
    var connectedAt: Int64 = 0
    /// Until when nothing passes between it and the broker.
    var cutUntil: Int64 = 0
    var slowUntil: Int64 = 0
    /// When something last befell it.
    var troubledAt: Int64 = 0
    /// The pulse that hasn't come back.
    var pulse: UInt64 = 0
    var up = PacketQueue()
    var down = PacketQueue()

    /// What its clock shows at a true time.
    func local(_ time: Int64) -> Int64 { offset + time + floorDivision(time * error, 1_000_000) }

    /// The first true time at which its clock shows at least this.
    func trueTime(_ local: Int64) -> Int64 {
        var time = (local - offset) * 1_000_000 / (1_000_000 + error) - 2
        while self.local(time) < local { time += 1 }
        return time
    }

    private func floorDivision(_ value: Int64, _ by: Int64) -> Int64 {
        value >= 0 ? value / by : -((-value + by - 1) / by)
    }
}

/// The broker of a world.
struct WorldBroker {
    /// A session, as the broker sees it.
    struct Session {
        var id: SessionID
        var connection: UInt32
        var heardAt: Int64
    }

    var isUp = true
    /// Grows when it crashes.
    var run: UInt32 = 0
    /// How often it has lost retained messages.
    var losses: Int32 = 0
    /// Until when it publishes no wills, or late ones.
    var wills = Wills.prompt
    var willsUntil: Int64 = 0
    /// By how many millionths its waits are too long.
    var clockError: Int64 = 0
    /// For each sensor.
    var retained: [LeaseRecord?]
    /// For each gateway.
    var gone: [SessionID?]
    var sessions: [Session?]
    var watchers: [[Int32]]
    /// For each pair.
    var isSubscribed: [Bool]
    /// What it would find on its disk.
    var saved: (retained: [LeaseRecord?], gone: [SessionID?])

    enum Wills { case prompt, late, lost }

    init(sensors: Int, gateways: Int, pairs: Int) {
        retained = Array(repeating: nil, count: sensors)
        gone = Array(repeating: nil, count: gateways)
        sessions = Array(repeating: nil, count: gateways)
        watchers = Array(repeating: [], count: gateways)
        isSubscribed = Array(repeating: false, count: pairs)
        saved = (retained, gone)
    }
}
