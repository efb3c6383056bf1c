import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// Operations that wait for a more secure link while the peer's services change.
@Suite struct RaisedOperationTests {
    private static let hashRequest: [UInt8] = [0x08, 0x01, 0x00, 0xFF, 0xFF, 0x2A, 0x2B]

    private static var reading: LinkMachine.Target {
        .characteristic(LinkMachine.heartRate, anyOf: []) { ReadValue(handle: $0.valueHandle) }
    }

    /// A machine that knows one chosen service.
    private static func machine() -> LinkMachine {
        var machine = LinkMachine(maximumMTU: 517, servedClient: ServerClient(), remembered: nil)
        machine.add(GATTDatabase(services: [.heartRate(at: 1)]), of: [.heartRate])
        return machine
    }

    private static let hash = [UInt8](repeating: 7, count: 16)

    /// A machine that remembers the services with this hash.
    private static func remembering() -> LinkMachine {
        let database = GATTDatabase(services: [.heartRate(at: 1)])
        return LinkMachine(
            maximumMTU: 517,
            servedClient: ServerClient(),
            remembered: RememberedDatabase(database: database, hash: hash)
        )
    }

    /// The peer refuses a request again and again, each time with another error, and its services are the same.
    private static func refuse(_ request: [UInt8], with errors: [UInt8], _ machine: inout LinkMachine) {
        var output = LinkMachine.Output()
        for error in errors {
            let look = machine.send(&output)
            #expect(look == hashRequest)
            machine.receive(answer(with: hash), &output)
            let sent = machine.send(&output)
            #expect(sent == request)
            machine.receive([0x01, request[0], request[1], request[2], error], &output)
        }
    }

    private static func answer(with hash: [UInt8]) -> [UInt8] { [0x09, 18, 0x20, 0] + hash }

    /// The services come into doubt, and then the link is secure.
    ///
    /// - Returns: what is sent behind the request that looks whether they have changed.
    private static func doubtAndRaise(_ machine: inout LinkMachine) -> [UInt8]? {
        var output = LinkMachine.Output()
        machine.outOfSync(&output)
        machine.raised(machine.lastRaise, .done, &output)
        let request = machine.send(&output)
        #expect(request == hashRequest)
        // There is no hash.
        machine.receive([0x01, 0x08, 0x01, 0x00, 0x0A], &output)
        return machine.send(&output)
    }

    /// The peer has no hash, and refuses to list its services.
    private static func refuseSearch(_ machine: inout LinkMachine) -> LinkMachine.Output {
        var output = LinkMachine.Output()
        let look = machine.send(&output)
        #expect(look == hashRequest)
        machine.receive([0x01, 0x08, 0x01, 0x00, 0x0A], &output)
        let list = machine.send(&output)
        #expect(list?.first == 0x10)
        var refusal = LinkMachine.Output()
        // Insufficient Encryption.
        machine.receive([0x01, 0x10, 0x01, 0x00, 0x0F], &refusal)
        return refusal
    }

    @Test(arguments: [LinkMachine.Target.database, reading, .handles(ReadValue(handle: 3))])
    func `a discovery that is refused is begun anew on a more secure link, once`(target: LinkMachine.Target) {
        var machine = LinkMachine(maximumMTU: 517, servedClient: ServerClient(), remembered: nil)
        // Handles have their characteristic looked up if the program demands anything.
        machine.demands[LinkMachine.heartRate] = .encrypted
        var output = LinkMachine.Output()
        _ = machine.begin(target, &output)
        let refused = Self.refuseSearch(&machine)
        #expect(refused.finished.isEmpty && refused.rest?.raises.count == 1)
        machine.raised(machine.lastRaise, .done, &output)
        let again = Self.refuseSearch(&machine)
        let failure = GATTFailure.attribute(.insufficientEncryption, handle: 1)
        #expect(again.finished.map(\.result) == [.failure(.search(failure))])
        #expect(again.rest?.raises.isEmpty ?? true)
        #expect(machine.operations.isEmpty)
    }

    @Test func `a discovery that is refused is begun anew where the link was raised for others meanwhile`() {
        var machine = LinkMachine(maximumMTU: 517, servedClient: ServerClient(), remembered: nil)
        var output = LinkMachine.Output()
        _ = machine.begin(.database, &output)
        machine.subscribeToHeartRate(&output)
        machine.hold(false, rises: 1)
        let refused = Self.refuseSearch(&machine)
        #expect(refused.finished.isEmpty && (refused.rest?.raises.isEmpty ?? true))
        #expect(machine.operations.map(\.stage) == [.finding, .finding])
    }

    @Test(arguments: [false, true])
    func `a discovery that is refused ends where the link can't be raised`(isDeclined: Bool) {
        var machine = LinkMachine(maximumMTU: 517, servedClient: ServerClient(), remembered: nil)
        var output = LinkMachine.Output()
        _ = machine.begin(.database, &output)
        _ = Self.refuseSearch(&machine)
        let error = BLEError(.timedOut, operation: "secure link", object: "", cause: "nobody answered")
        var end = LinkMachine.Output()
        machine.raised(machine.lastRaise, isDeclined ? .declined : .failed(error), &end)
        let failure = GATTFailure.attribute(.insufficientEncryption, handle: 1)
        let expected: LinkFailure = isDeclined ? .search(failure) : .notRaised(failure, because: error)
        #expect(end.finished.map(\.result) == [.failure(expected)])
    }

    @Test(arguments: [false, true])
    func `a refused read isn't repeated at the handle of before`(isInDoubt: Bool) {
        var machine = Self.machine()
        var output = LinkMachine.Output()
        _ = machine.begin(Self.reading, &output)
        let read = machine.send(&output)
        #expect(read == [0x0A, 3, 0])
        // Insufficient Encryption.
        machine.receive([0x01, 0x0A, 3, 0, 0x0F], &output)
        guard isInDoubt else {
            machine.raised(machine.lastRaise, .done, &output)
            let again = machine.send(&output)
            #expect(again == read)
            return
        }
        let next = Self.doubtAndRaise(&machine)
        #expect(next?.first == 0x10)
        #expect(machine.operations.map(\.stage) == [.finding])
    }

    @Test(arguments: [false, true])
    func `a read that is refused behind the change is found anew`(isRaisedBefore: Bool) {
        var machine = Self.machine()
        var output = LinkMachine.Output()
        _ = machine.begin(Self.reading, &output)
        let read = machine.send(&output)
        #expect(read == [0x0A, 3, 0])
        machine.outOfSync(&output)
        if isRaisedBefore { machine.hold(false, rises: 1) }
        machine.receive([0x01, 0x0A, 3, 0, 0x0F], &output)
        machine.raised(machine.lastRaise, .done, &output)
        #expect(machine.operations.map(\.stage) == [.finding])
    }

    @Test func `a read that was repeated before is found once more`() {
        var machine = Self.remembering()
        var output = LinkMachine.Output()
        let read: [UInt8] = [0x0A, 3, 0]
        _ = machine.begin(Self.reading, &output)
        // Database Out Of Sync, Insufficient Encryption.
        Self.refuse(read, with: [0x12, 0x0F], &machine)
        machine.outOfSync(&output)
        machine.raised(machine.lastRaise, .done, &output)
        let look = machine.send(&output)
        #expect(look == Self.hashRequest)
        machine.receive(Self.answer(with: Self.hash), &output)
        let again = machine.send(&output)
        #expect(again == read)
    }

    @Test func `a subscription that was postponed before isn't made at the handle of before`() {
        var machine = Self.remembering()
        var output = LinkMachine.Output()
        machine.subscribeToHeartRate(&output)
        Self.refuse([0x12, 4, 0, 1, 0], with: [0x12, 0x12, 0x0F], &machine)
        machine.outOfSync(&output)
        machine.raised(machine.lastRaise, .done, &output)
        let look = machine.send(&output)
        #expect(look == Self.hashRequest)
        machine.receive(Self.answer(with: [UInt8](repeating: 8, count: 16)), &output)
        let next = machine.send(&output)
        #expect(next?.first == 0x10)
    }

    @Test(arguments: [false, true])
    func `what waits for the demanded security isn't begun at the handle of before`(isSubscription: Bool) {
        var machine = Self.machine()
        machine.demands[LinkMachine.heartRate] = .encrypted
        var output = LinkMachine.Output()
        if isSubscription {
            machine.subscribeToHeartRate(&output)
        } else {
            _ = machine.begin(Self.reading, &output)
        }
        let early = machine.send(&output)
        #expect(early == nil)
        let next = Self.doubtAndRaise(&machine)
        #expect(next?.first == 0x10)
        #expect(machine.operations.map(\.stage) == [.finding])
    }
}
