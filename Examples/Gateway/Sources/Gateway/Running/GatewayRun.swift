import BLEStreams
import MQTT
import Spool

/// A gateway from one beginning to the end, or to a configuration that needs a new beginning.
struct GatewayRun {
    /// How often the health record is published, and the spool written to disk at the latest.
    private static let healthInterval = Duration.seconds(60)
    private static let flushInterval = Duration.seconds(5)
    /// How long the adapter is waited for before a person is told, and again before it is looked why it isn't on.
    private static let adapterPatience = Duration.seconds(5)
    private static let adapterPatienceOnceTold = Duration.seconds(60)
    /// Its name among the troubles.
    private static let adapterName = "adapter"

    private let settings: Settings
    private let adapter: AdapterChoice
    private let report: @Sendable (String) -> Void
    private let spool: Spool
    /// One for each of ``spools``.
    private let flushErrors: [LastingError]
    private let outbox: Outbox
    private let publisher: Publisher
    private let sessions = Sessions()
    private let commands: Commands
    private let troubles: Troubles
    private let health: Health
    private let discovery: HomeAssistant?
    private let server: MetricsServer?
    private let sparkplug: SparkplugDriver?
    private let leases: LeaseDriver?
    private let campaigns: CampaignDriver?

    init(
        _ configuration: Configuration,
        _ adapter: AdapterChoice,
        _ report: @escaping @Sendable (String) -> Void
    ) throws {
        settings = Settings(configuration)
        let folder = configuration.spool.folder
        // Told also if a later part fails: the next start finds what this one has made.
        var made: [String] = []
        defer { if let news = FirstStart.news(of: made) { report(news) } }
        spool = try Spool(
            SpoolSettings(
                folder: folder,
                limit: configuration.spool.megabytes << 20,
                recordsPerSync: configuration.spool.recordsPerSync
            )
        )
        if spool.isNew { made.append(folder) }
        self.report = report
        flushErrors = (0..<2).map { _ in LastingError(report) }
        outbox = Outbox(spool, prefix: configuration.prefix, report: report)
        let publisher = Publisher(spool, prefix: configuration.prefix, report: report)
        publisher.use(outbox)
        self.publisher = publisher
        commands = Commands(settings: settings, sessions: sessions, publisher: publisher)
        sparkplug = try configuration.sparkplug.map {
            try SparkplugDriver($0, beside: configuration.spool, report: report)
        }
        if sparkplug?.spool.isNew == true { made.append(folder + ".sparkplug") }
        leases = try configuration.leases.map { try LeaseDriver($0, spool: folder, report: report) }
        if leases?.isNew == true { made.append(folder + ".leases") }
        campaigns = leases.flatMap { leases in configuration.campaigns.map { CampaignDriver($0, leases, publisher) } }
        troubles = Troubles(report)
        let health = Health(spool, outbox, sessions, troubles, leases, sparkplug)
        self.health = health
        server = try configuration.metricsPort.map { try MetricsServer(port: $0, report: report) { health.text } }
        discovery = configuration.homeAssistantPrefix.map { HomeAssistant(prefix: $0, publisher) }
        self.adapter = adapter.reporting(to: health.page)
    }

    /// Runs until an order ends it.
    ///
    /// - Returns: the configuration to begin again with; `nil`: the end.
    func run(_ orders: AsyncStream<Order>) async throws -> Configuration? {
        outbox.retain(status("online"))
        publisher.tellUnfollowed(settings.current.peripherals, isSharing: leases != nil)
        let result = await withTaskGroup(of: Void.self) { group in
            group.addTask { await talkToBrokers() }
            let (answers, answered) = AsyncStream<Void>.makeStream()
            group.addTask {
                await commands.run()
                answered.finish()
            }
            group.addTask {
                await repeatedly(every: Self.healthInterval) { record in
                    outbox.repeatRefused()
                    publisher.retain("health", record)
                }
            }
            group.addTask { await flushRepeatedly() }
            let result = await Result { try await follow(orders) }
            if case .success(let next?) = result {
                settings.end(before: next)
                tidyUp(before: next)
            }
            commands.end()
            leases?.stop()
            flush()
            // The links are down, and what came is in the spool. Without sessions, no command takes long.
            for await _ in answers {}
            // Who sent one has the reply. Now the broker is left; it publishes the last will.
            outbox.end()
            sparkplug?.end()
            group.cancelAll()
            await group.waitForAll()
            return result
        }
        await server?.close()
        for spool in spools { do { try spool.close() } catch { report("\(error)") } }
        return try result.get()
    }

    /// The configuration in force.
    var inForce: Configuration { settings.current }

    private func status(_ word: String) -> MQTTMessage {
        MQTTMessage("\(publisher.prefix)/status", Array(word.utf8), isRetained: true)
    }

    // MARK: - Sensors

    /// Follows the sensors until an order ends that.
    private func follow(_ orders: AsyncStream<Order>) async throws -> Configuration? {
        enum Outcome {
            case radio
            case order(Configuration?)
        }
        return try await withThrowingTaskGroup(of: Outcome.self) { group in
            group.addTask {
                try await useRadio()
                return .radio
            }
            group.addTask { .order(await obey(orders)) }
            defer { group.cancelAll() }
            while let outcome = try await group.next() {
                if case .order(let next) = outcome { return next }
            }
            return nil
        }
    }

    /// Applies configurations; returns when one needs a new beginning, or at the end.
    private func obey(_ orders: AsyncStream<Order>) async -> Configuration? {
        for await order in orders {
            switch order {
            case .stop: return nil
            case .reload(let configuration):
                let old = settings.current
                if configuration.needsNewBeginning(after: old) {
                    report("configuration: this change closes all links, and they are made again")
                    return configuration
                }
                // Before they can be followed.
                let labels = Set(old.peripherals.map(\.label))
                let new = configuration.peripherals.filter { !labels.contains($0.label) }
                publisher.tellUnfollowed(new, isSharing: leases != nil)
                settings.set(configuration)
                // Those that are followed still are tidied up after when that has ended.
                for peripheral in old.peripherals where !sessions.contains(peripheral.label) {
                    tidyUp(after: peripheral.label)
                }
                report("configuration: applied")
            }
        }
        return nil
    }

    /// Uses the adapter once it is on. A person is told what that waits for, and told again if it is something else.
    private func useRadio() async throws {
        var patience = Self.adapterPatience
        while true {
            var isOn = false
            do {
                return try await Central.with(adapter, waitingFor: patience) { central in
                    isOn = true
                    troubles.end(of: Self.adapterName)
                    try await follow(by: central)
                }
            } catch let error as BLEError where !isOn && error.elapsed != nil {
                troubles.tell(error, of: Self.adapterName)
                patience = Self.adapterPatienceOnceTold
            }
        }
    }

    private func follow(by central: Central) async throws {
        try await central.withFleet { fleet in
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await runEach(settings.changes.map { $0.advertisements.map { [$0] } ?? [] }) { settings in
                        await Advertisements(settings: settings, publisher: publisher).run(central)
                    }
                }
                if let leases {
                    group.addTask { await Reception(leases: leases, report: report).run(central) }
                    group.addTask { for await settings in settings.changes { leases.share(settings.peripherals) } }
                    group.addTask {
                        await runHeld(leases) { tenure in
                            await follower(tenure.peripheral, Lease(driver: leases, tenure: tenure))
                                .run(central, fleet)
                            tidyUp(after: tenure.peripheral.label)
                        }
                    }
                } else {
                    group.addTask {
                        await runEach(settings.changes.map(\.peripherals)) { peripheral in
                            await follower(peripheral, nil).run(central, fleet)
                            tidyUp(after: peripheral.label)
                        }
                    }
                }
            }
        }
    }

    /// Removes the states of a peripheral that is no longer followed, unless the configuration still has it.
    private func tidyUp(after label: String) {
        let peripheral = settings.current.peripherals.first { $0.label == label }
        discovery?.keep(peripheral?.characteristics ?? [], of: label)
        guard peripheral == nil else { return }
        for kind in ["state", "update"] { publisher.remove("\(kind)/\(label)") }
    }

    /// Removes the states that another beginning doesn't have.
    private func tidyUp(before next: Configuration) {
        let old = settings.current
        let others = next.prefix == old.prefix ? next.peripherals : []
        if next.prefix != old.prefix || next.campaigns == nil { campaigns?.removeSummaries() }
        for peripheral in old.peripherals {
            let other = others.first { $0.label == peripheral.label }
            let isAnnounced = next.homeAssistantPrefix == old.homeAssistantPrefix
            discovery?.keep(isAnnounced ? other?.characteristics ?? [] : [], of: peripheral.label)
            guard other == nil else { continue }
            for kind in ["state", "update"] { publisher.remove("\(kind)/\(peripheral.label)") }
        }
    }

    private func follower(_ peripheral: Configuration.Peripheral, _ lease: Lease?) -> Follower {
        Follower(
            peripheral: peripheral,
            publisher: publisher,
            sessions: sessions,
            troubles: troubles,
            discovery: discovery,
            sparkplug: sparkplug,
            lease: lease
        ) { [campaigns] session in
            if let lease { await campaigns?.work(lease, session) }
        }
    }

    // MARK: - The broker

    /// Keeps a client for the configured broker.
    private func talkToBrokers() async {
        await runEach(settings.changes.map { [$0.broker] }) { broker in await talk(to: broker) }
    }

    private func talk(to broker: Configuration.Broker) async {
        var settings = MQTTSettings(broker)
        settings.will = status("offline")
        settings.farewellPublishesWill = true
        settings.subscriptions = ["\(publisher.prefix)/command"] + FormerUpdates.subscriptions(self.settings.current)
        settings.inboxLimit = Commands.inboxLimit
        let client = MQTTClient(settings, outbox: outbox)
        publisher.use(outbox, client)
        health.use(client)
        publisher.retain("health", health.record.octets)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            group.addTask { await tell(client.events, of: "broker") }
            group.addTask { await commands.take(client.messages) }
            if let leases { group.addTask { await follow(leases, "leases", on: broker) } }
            if let campaigns {
                group.addTask { await follow(campaigns, "campaigns", on: broker) }
                group.addTask { await campaigns.lookAgain() }
            }
            if let sparkplug { group.addTask { await follow(sparkplug, "sparkplug", on: broker) } }
        }
    }

    /// Keeps a connection for one driver alone: nothing that waits for room may delay it.
    private func follow(_ driver: some BrokerDriver, _ part: String, on broker: Configuration.Broker) async {
        let client = MQTTClient(driver.settings(MQTTSettings(broker)), outbox: driver)
        driver.use(client)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            group.addTask { await tell(client.events, of: part) }
        }
    }

    private func tell(_ events: AsyncStream<MQTTEvent>, of part: String) async {
        var news = BrokerNews(of: part)
        for await event in events { if let line = news.news(event) { report(line) } }
    }

    // MARK: - From time to time

    private func repeatedly(every interval: Duration, _ publish: ([UInt8]) -> Void) async {
        while (try? await Task.sleep(for: interval)) != nil { publish(health.record.octets) }
    }

    private func flushRepeatedly() async {
        while (try? await Task.sleep(for: Self.flushInterval)) != nil { flush() }
    }

    private func flush() {
        for (spool, error) in zip(spools, flushErrors) { error.watch { try spool.flush() } }
    }

    private var spools: [Spool] { [spool] + [sparkplug?.spool].compactMap(\.self) }
}

extension MQTTSettings {
    /// The broker of a configuration.
    fileprivate init(_ broker: Configuration.Broker) {
        self.init(host: broker.host, port: broker.port, clientID: broker.clientID)
        inFlight = broker.inFlight
        keepAlive = .seconds(broker.keepAlive)
        if let user = broker.user { login = MQTTLogin(user: user, password: broker.password) }
        if let authorities = broker.authorities {
            security = MQTTSecurity(authorities: authorities, certificate: broker.certificate, key: broker.key)
        }
    }
}

extension Result where Failure == any Error {
    /// The outcome of some work.
    fileprivate init(_ work: () async throws -> Success) async {
        do { self = .success(try await work()) } catch { self = .failure(error) }
    }
}
