import BLEStreams

/// Shows what a device has.
struct Info: Command {
    static let name = "info"
    static let summary = "show a device's services, characteristics and values, and the link"
    static let parameters = ["ADDRESS"]
    static let options = [Option.fresh, Option.deadline]
    static let notes = """
        Every value that can be read is read. A device that leaves a read unanswered gets no further ones: the values
        behind it are missing then.
        """

    private let peripheral: PeripheralName
    private let limit: Duration?

    init(_ arguments: Arguments) throws(UsageError) {
        peripheral = try PeripheralName(arguments.parameters(Self.parameters)[0])
        limit = try arguments.seconds("timeout")
    }

    func run(in environment: CommandEnvironment) async throws {
        let deadline = limit.map { Deadline(in: $0) }
        let tree = try await environment.withLink(to: peripheral, deadline) { link in
            let database = try await environment.discover(link, deadline)
            var tree = GATTTree(link: link, rssi: try await environment.signalStrength(of: link), database: database)
            try await environment.readValues(of: &tree, link, deadline)
            return tree
        }
        try environment.output.print(tree.json, tree.text)
    }
}

extension CommandEnvironment {
    /// The signal strength, where the radio tells it.
    fileprivate func signalStrength(of link: Link) async throws -> Int? {
        do {
            return try await link.rssi()
        } catch let error as BLEError where error.code != .disconnected {
            log.detail(error.messageText)
            return nil
        }
    }

    /// Reads all that can be read, until a read stays unanswered: no other may be sent before its answer.
    fileprivate func readValues(of tree: inout GATTTree, _ link: Link, _ deadline: Deadline?) async throws {
        for handle in tree.readableHandles {
            let patience = min(.seconds(3), deadline?.remaining ?? .seconds(3))
            do {
                tree.values[handle] = .octets(Array(try await link.read(handle: handle, timeout: patience)))
            } catch let error as BLEError where error.code == .attributeError {
                tree.values[handle] = .refused(error.attError?.description ?? error.cause)
            } catch let error as BLEError where error.code == .timedOut {
                log.say("\(handle.handleText) was not answered within \(patience.secondsText): values are missing")
                return
            }
        }
    }
}
