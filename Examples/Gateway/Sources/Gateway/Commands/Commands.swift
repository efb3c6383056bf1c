import BLEDevices
import BLEStreams
import MQTT
import Synchronization

/// Carries out commands from the broker, as far as the configuration permits them.
struct Commands {
    /// How long a command has from its arrival on, with its wait for those before it.
    private static let timeout = Duration.seconds(30)

    /// How many messages may wait to be looked at: more than commands may wait to be carried out, since one that is
    /// dropped here gets no reply, and one that is refused does.
    static let inboxLimit = 2 * Lanes.maximum

    private typealias Lanes = CommandLanes<Received>

    private final class SharedLanes: Sendable {
        private let lanes = Mutex(Lanes())

        func admit(_ received: Received, to lane: Lanes.Lane) -> Lanes.Admission {
            lanes.withLock { $0.admit(received, to: lane) }
        }

        func next(in lane: Lanes.Lane) -> Received? { lanes.withLock { $0.next(in: lane) } }
    }

    /// A command that has arrived.
    private struct Received: Sendable {
        let message: MQTTMessage
        let command: Command
        let deadline: ContinuousClock.Instant

        var lane: Lanes.Lane {
            .init(peripheral: command.peripheral, isOfUpdates: command.operation == .update)
        }
    }

    let settings: Settings
    let sessions: Sessions
    let publisher: Publisher
    private let lanes = SharedLanes()
    private let updated = UpdatedPeripherals()
    private let formerUpdates: FormerUpdates
    /// The broker sends a retained command on each connection.
    private let retained: LastingError
    /// The commands that found their lane empty.
    private let begun: AsyncStream<Received>
    private let beginning: AsyncStream<Received>.Continuation

    init(settings: Settings, sessions: Sessions, publisher: Publisher) {
        self.settings = settings
        self.sessions = sessions
        self.publisher = publisher
        formerUpdates = FormerUpdates(settings: settings, publisher: publisher)
        retained = LastingError(publisher.report)
        (begun, beginning) = AsyncStream.makeStream()
    }

    /// Takes the commands that come over a connection, until the stream ends. What was taken is carried out all the
    /// same: another broker is no reason to end an update.
    func take(_ messages: AsyncStream<MQTTMessage>) async {
        for await message in messages {
            guard !formerUpdates.take(message), let received = receive(message) else { continue }
            let lane = received.lane
            switch lanes.admit(received, to: lane) {
            case .waits: break
            case .isRefused: answer(received, lane.isOfUpdates ? isBeingUpdated(lane.peripheral) : Self.tooMany)
            case .runs:
                guard case .terminated = beginning.yield(received) else { break }
                // It is not carried out, so nothing is to wait for it.
                var next = Optional(received)
                while let received = next {
                    answer(received, Self.ended)
                    next = lanes.next(in: lane)
                }
            }
        }
    }

    /// Carries out the commands that were taken, until ``end()`` was called and all have ended, or until the task is
    /// cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await first in begun {
                group.addTask {
                    var next = Optional(first)
                    while let received = next {
                        answer(received, await result(of: received))
                        next = lanes.next(in: received.lane)
                    }
                }
            }
        }
    }

    /// Begins no more commands than those that were taken.
    func end() { beginning.finish() }

    /// The permitted command that a message is; `nil` if it is none, which its sender is told: it takes no place of
    /// those that are permitted.
    private func receive(_ message: MQTTMessage) -> Received? {
        // A command that was retained is of an earlier time, perhaps of one in which it made sense.
        guard !message.isRetained else {
            retained.tell(wordsOfRetained(message.topic))
            return nil
        }
        do {
            let command = try Command(message.payload)
            let received = Received(message: message, command: command, deadline: .now + Self.timeout)
            guard isPermitted(command) else {
                answer(received, Self.notPermitted)
                return nil
            }
            return received
        } catch {
            answer(message, error.id, Self.failure("refused", error.cause, error.remedy))
            return nil
        }
    }

    /// What a person is told of a command that the broker retains.
    private func wordsOfRetained(_ topic: String) -> String {
        let broker = settings.current.broker
        // A prefix may have an apostrophe, which ends what a shell takes as it is.
        let word = "'\(topic.replacing("'", with: #"'\''"#))'"
        return "command: \(topic): the broker retains a command, which is ignored: it may be of an earlier time. "
            + "Remove it with `mosquitto_pub -V 5 -h \(broker.host) -p \(broker.port) -r -n -t \(word)`, with the "
            + "login and the certificates that the broker requires, and publish commands without the retain flag."
    }

    private func answer(_ received: Received, _ result: [(String, JSONText)]) {
        answer(received.message, received.command.id, result)
    }

    private func answer(_ message: MQTTMessage, _ id: JSONText?, _ result: [(String, JSONText)]) {
        guard let topic = message.responseTopic, !topic.contains(where: { $0 == "+" || $0 == "#" }) else { return }
        let members = (id.map { [("id", $0)] } ?? []) + result
        var answer = MQTTMessage.json(topic, JSONText.object(members).octets)
        answer.correlationData = message.correlationData
        publisher.reply(answer)
    }

    private static func failure(_ code: String, _ cause: String, _ remedy: String) -> [(String, JSONText)] {
        [
            ("ok", .bool(false)),
            ("error", .object(("code", .string(code)), ("cause", .string(cause)), ("remedy", .string(remedy)))),
        ]
    }

    private static let notPermitted = failure(
        "notPermitted",
        "the configuration doesn't permit this operation",
        "Add the peripheral, the operation and the characteristic to 'commands' in the configuration."
    )

    private static let tooMany = failure(
        "busy",
        "too many commands wait: at most \(Lanes.maximumInLane) may for one peripheral, and \(Lanes.maximum) in all",
        "Wait for replies before you send more."
    )

    private static let ended = failure(
        "ended",
        "the gateway is stopping or restarting",
        "Send the command again later."
    )

    private func isBeingUpdated(_ label: String) -> [(String, JSONText)] {
        Self.failure(
            "busy",
            "the peripheral is being updated",
            "Wait until \(publisher.prefix)/update/\(label) or the campaign says that this is over."
        )
    }

    /// Nothing can be done to a peripheral without a session; with leases, another gateway may have it.
    private func notFollowed(_ label: String) -> [(String, JSONText)] {
        guard settings.current.leases != nil else {
            return Self.failure(
                "notFound",
                "the peripheral is not followed at present",
                "Send the command again when \(publisher.prefix)/state/\(label) says that the peripheral is ready."
            )
        }
        return Self.failure(
            "notFound",
            "this gateway doesn't hold the peripheral at present",
            "Send the command to the gateway whose state/\(label) says that the peripheral is ready."
        )
    }

    private func isPermitted(_ command: Command) -> Bool {
        settings.current.permissions.contains { permission in
            permission.peripheral == command.peripheral
                && permission.operations.contains(command.operation.rawValue)
                && command.request.characteristic.map(permission.characteristics.contains) ?? true
        }
    }

    private func result(of received: Received) async -> [(String, JSONText)] {
        let command = received.command
        // The configuration may have changed meanwhile.
        guard isPermitted(command) else { return Self.notPermitted }
        guard let session = sessions[command.peripheral] else {
            return notFollowed(command.peripheral)
        }
        let left = ContinuousClock.now.duration(to: received.deadline)
        guard left > .zero || command.operation == .update else {
            return Self.failure(
                "timedOut",
                "the commands before it took all of its \(Self.timeout.components.seconds) s",
                "Send the command again when \(publisher.prefix)/state/\(command.peripheral) says that the peripheral "
                    + "is ready."
            )
        }
        do {
            return [("ok", .bool(true))] + (try await perform(command, session, within: left))
        } catch let error as BLEError {
            let ending = error.code == .ended ? ending(command, session) : nil
            let error = error.ofGateway
            let (cause, remedy) = ending ?? ("\(error.operation): \(error.cause)", error.remedy)
            return Self.failure("\(error.code)", cause, remedy)
        } catch let error as ImageFolder.ImageError {
            return Self.failure("refused", error.cause, error.remedy)
        } catch let busy as Busy {
            return isBeingUpdated(busy.label)
        } catch is CancellationError {
            return Self.ended
        } catch {
            return Self.failure("failed", "\(error)", "Try again later.")
        }
    }

    /// Why a command was ended before its time.
    private func ending(_ command: Command, _ session: Session) -> (cause: String, remedy: String) {
        let label = command.peripheral
        // Not by whether there is a session still: when the gateway stops, it may be removed after its queue has ended.
        if case .update = command.request, sessions[label] === session, session.queue.activeFlow != nil {
            return (
                "another update of the peripheral, such as a campaign's, has taken its place",
                "Send the command again when that update is done."
            )
        }
        return (
            "this gateway no longer follows the peripheral: it is stopping, has a new configuration, or another "
                + "gateway holds the peripheral",
            "Send the command again to the gateway whose state/\(label) is ready; an upload continues where it "
                + "stopped."
        )
    }

    private func perform(
        _ command: Command,
        _ session: Session,
        within timeout: Duration
    ) async throws -> [(String, JSONText)] {
        switch command.request {
        case .read(let characteristic):
            let value = try await session.read(characteristic, timeout: timeout)
            var members: [(String, JSONText)] = [("value", .hex(value))]
            if let decoded = Decoders.decode(value, of: characteristic) {
                members.append(("decoded", decoded.json))
            }
            return members + value.time.members
        case .write(let value, to: let characteristic, let kind):
            try await session.write(value, to: characteristic, kind, timeout: timeout)
        case .connect:
            // A link that is there already, or is being made, is what was asked for.
            try? session.reset()
            try? session.connect()
            try await session.ready(timeout: timeout)
        case .update(let image):
            try await update(command.peripheral, session, image)
        }
        return []
    }

    // MARK: - Updates

    /// The peripheral is being updated already.
    private struct Busy: Error {
        /// The label whose topic tells how far that is.
        var label: String
    }

    /// Brings an image to a peripheral. It has no limit of time of its own: a lost link only interrupts it.
    private func update(_ label: String, _ session: Session, _ hash: String) async throws {
        guard let folder = settings.current.images else {
            throw ImageFolder.ImageError(
                cause: "the configuration names no folder with images",
                remedy: "Write the folder's path as 'images' in the configuration."
            )
        }
        let image = try ImageFolder(folder: folder).image(hash)
        guard session.queue.activeFlow == nil else { throw Busy(label: label) }
        let news = UpdateNews(publisher, label, image: hash)
        // A peripheral that has left the configuration meanwhile has no topics any more. One that leaves from here on
        // is tidied up after later.
        defer { if !settings.keeps(label) { publisher.remove("update/\(label)") } }
        do {
            // One that is given by its name is known when it was found.
            if session.peripheral == nil { try await session.ready() }
            let address = session.peripheral?.address
            if let address, let other = updated.begin(address, as: label) { throw Busy(label: other) }
            defer { if let address { updated.end(address) } }
            try await session.queue.run(FirmwareUpdateFlow(image), replacing: .activeFlow) { progress in
                news.tell(progress.phase, progress.fraction)
            }
            news.tell(UpdateNews.done)
        } catch let busy as Busy {
            // The news is of the other update.
            throw busy
        } catch {
            news.tell(UpdateNews.failed)
            throw error
        }
    }
}
