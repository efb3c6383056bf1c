import BLERadio
import BLEStreams

/// Shows a device's services, characteristics and values.
struct Info: Command {
    static let name = "info"
    static let summary = "show a device's services, characteristics and values, and the link"
    static let parameters = ["ADDRESS"]
    static let options = [Option.fresh, Option.parameters, Option.deadline]
    static let notes = """
        It reads every readable value. Each answer may take three seconds, or with --timeout as long as is left of that
        time. When a request fails because the link is lost or an answer is missing, the output contains everything read
        until then, and the exit status is 1; a refused value is shown in the tree. In a shell, --parameters changes the
        shell's link.

        With --json the tree can be passed to `ble serve --database`, which serves a copy of the device, and to `ble
        verify --database`, which compares a device with it.
        """

    private let peripheral: PeripheralName
    private let limit: Duration?
    private let parameters: ConnectionParameters?

    init(_ arguments: Arguments) throws(UsageError) {
        peripheral = try PeripheralName(arguments.parameters(Self.parameters)[0])
        limit = try arguments.seconds("timeout")
        parameters = try arguments.linkParameters("parameters").last
    }

    func run(in environment: CommandEnvironment) async throws {
        let deadline = limit.map { Deadline(in: $0) }
        var found: GATTTree?
        do {
            try await environment.withLink(to: peripheral, deadline, parameters: parameters) { link in
                var tree = GATTTree(link: link, database: try await environment.discover(link, deadline))
                // If a request fails, what is known by then is shown all the same.
                defer { found = tree }
                tree.conditions = try await environment.conditions(of: link)
                let word = environment.log.tellIfItTakesLong("reading \(tree.readableHandles.count) values")
                defer { word.cancel() }
                try await tree.readValues(on: link, deadline)
            }
        } catch let error as BLEError {
            environment.print(despite: error) {
                if let found { try environment.output.print(found.json, found.text) }
            }
            throw error
        }
        if let found { try environment.output.print(found.json, found.text) }
    }
}

extension CommandEnvironment {
    /// The conditions of the link, if the radio reports them.
    fileprivate func conditions(of link: Link) async throws -> LinkConditions? {
        do {
            let conditions = try await link.conditions()
            if let why = conditions.whyIncomplete { log.detail(why.messageText) }
            return conditions
        } catch let error as BLEError where error.code != .disconnected {
            log.detail(error.messageText)
            return nil
        }
    }
}

extension GATTTree {
    /// Reads everything readable, until a request fails: no other may be sent before its response.
    mutating func readValues(on link: Link, _ deadline: Deadline? = nil) async throws {
        defer { security = link.security }
        for handle in readableHandles {
            // What takes longer has an error that advises to allow more time.
            let patience = deadline?.remaining ?? .seconds(3)
            let before = link.security
            do {
                values[handle] = .octets(Array(try await link.read(.handle(handle), timeout: patience)))
                // The first attempt was refused: the level that the link has now is the most that the value can
                // require.
                if !before.isEncrypted, link.security.isEncrypted { levels[handle] = .encrypted }
            } catch let error as BLEError where error.code == .attributeError {
                values[handle] = .refused(error.attError?.description ?? error.cause, error.attError)
                if error.attError?.isForWantOfSecurity == true {
                    levels[handle] = link.security.isEncrypted ? .authenticated : .encrypted
                }
            }
        }
    }
}
