import BLESimulator
import BLEStreams

/// Something that a program can ask for, which is run with each fault at each of its steps.
struct SweptOperation: Sendable, CustomStringConvertible {
    let name: String
    /// How long it may take in virtual time, whatever goes wrong.
    let deadline: Duration
    /// How long it may go on once it is cancelled: a link is given up in order.
    var cancellation = Duration.seconds(8)
    let site: @Sendable () -> SweepSite
    /// Runs it in a world, by one ``SweepWorld/sweep(_:)``.
    let run: @Sendable (SweepWorld) async throws -> Void

    var description: String { name }

    /// All, in the order of the table.
    static let all = ofConnecting + ofLinks + ofDevices + ofFlows + ofSessions + ofJoined

    /// One without a link of its own from before.
    init(
        _ name: String,
        within deadline: Duration,
        site: @escaping @Sendable () -> SweepSite = SweepSite.basic,
        _ body: @escaping @Sendable (SweepWorld) async throws -> String
    ) {
        self.name = name
        self.deadline = deadline
        self.site = site
        run = { world in await world.sweep { try await body(world) } }
    }

    /// One on a link that stands, whose services are known, and that is looked at afterwards.
    static func onLink(
        _ name: String,
        within deadline: Duration = .seconds(45),
        mtu: Int = 517,
        discovered: Bool = true,
        site: @escaping @Sendable () -> SweepSite = SweepSite.basic,
        _ body: @escaping @Sendable (Link, SweepWorld) async throws -> String
    ) -> SweptOperation {
        SweptOperation(name: name, deadline: deadline, site: site) { world in
            world.bench.peripheralAdapter.settings.maximumPDUSize = mtu
            try await world.peripheral.withLink { link in
                if discovered { _ = try await link.discover() }
                await world.sweep { try await body(link, world) }
                await world.inspect(link)
            }
        }
    }

    init(
        name: String,
        deadline: Duration,
        site: @escaping @Sendable () -> SweepSite,
        run: @escaping @Sendable (SweepWorld) async throws -> Void
    ) {
        self.name = name
        self.deadline = deadline
        self.site = site
        self.run = run
    }
}
