import BLEProtocol
import BLERadio
import Glibc
import RadioContract
import Testing

@testable import BLELinux

/// What becomes of a link that is to be encrypted where no controller can tell of it.
@Suite(.timeLimit(.minutes(10))) struct LinkWithoutControllerTests {
    private let kernel = FakeKernel { $0.peers[.example] = FakePeer(address: .example, pairing: .refuses) }

    /// A socket with a link to the example peer.
    private func connectedSocket() throws -> SharedDescriptor {
        let socket = SharedDescriptor(try .l2capSocket(of: kernel.kernel))
        _ = try socket.descriptor.connect(to: L2CAPAddress(.example))
        return socket
    }

    /// Ends that link.
    private func end(_ error: Int32) {
        kernel.with { state in
            for number in [kernel.central, kernel.peripheral] {
                if let link = state.link(of: number, with: .example) { state.end(link.socket, error: error) }
            }
        }
    }

    @Test(arguments: [
        (ECONNRESET, DisconnectReason.Kind.closedByPeer, BLEError.Code.disconnected),
        (EBADE, .keyMissing, .securityFailed), (ENOTRECOVERABLE, .authenticationFailed, .securityFailed),
    ])
    func `who waits for its encryption is told once why it ended, and nothing is left of it`(
        _ error: Int32,
        _ kind: DisconnectReason.Kind,
        _ code: BLEError.Code
    ) async throws {
        let outcomes = FakeRun.Collector<Result<Void, BLEError>>()
        do {
            let loop = try EventLoop(name: "test", on: kernel.kernel)
            let link = SocketLink(testing: try connectedSocket(), loop: loop)
            let recorder = LinkRecorder()
            link.start(recorder)
            let changes = link.observeConditions { _ in Issue.record("a change that nobody can know of") }
            await kernel.idle()
            link.encrypt { outcomes.add($0) }
            await kernel.idle()
            #expect(outcomes.all.isEmpty)
            end(error)
            #expect(await recorder.untilEnd().reason?.kind == kind)
            changes.cancel()
        }
        await kernel.idle()
        let failures = outcomes.all.compactMap(\.failure)
        #expect(outcomes.all.count == 1 && failures.map(\.code) == [code])
        #expect(failures.first?.reason?.kind == kind && failures.first?.remedy.isEmpty == false)
        // It has seen no other program's keys.
        #expect(failures.first?.cause.contains("another program") == false)
        #expect(kernel.leftovers.isEmpty)
    }

    /// As where a link is lost while the bonds are read from a disk.
    @Test func `who asks for encryption when the link has ended is told of its end and not of its keys`() async throws {
        let loop = try EventLoop(name: "test", on: kernel.kernel)
        let link = SocketLink(testing: try connectedSocket(), loop: loop)
        let recorder = LinkRecorder()
        link.start(recorder)
        await kernel.idle()
        end(ETIMEDOUT)
        let reason = await recorder.untilEnd().reason
        let outcomes = FakeRun.Collector<Result<Void, BLEError>>()
        link.encrypt { outcomes.add($0) }
        let failure = outcomes.all.first?.failure
        #expect(outcomes.all.count == 1 && failure?.code == .disconnected && failure?.isFinal == false)
        #expect(reason?.kind == .supervisionTimeout && failure?.reason == reason, "\(failure as Any)")
    }

    /// The kernel raises the link's security, or has ended that with this level.
    private func secure(_ isSecuring: Bool, level: UInt8 = 1) {
        kernel.with { state in
            for number in [kernel.central, kernel.peripheral] {
                guard let link = state.link(of: number, with: .example) else { continue }
                state.objects[link.socket]?.l2cap?.isSecuring = isSecuring
                state.objects[link.socket]?.l2cap?.level = level
            }
        }
    }

    @Test func `who asks for encryption in the moment in which the link has room again waits for it`() async throws {
        let outcomes = FakeRun.Collector<Result<Void, BLEError>>()
        let loop = try EventLoop(name: "test", on: kernel.kernel)
        let link = SocketLink(testing: try connectedSocket(), loop: loop)
        let recorder = LinkRecorder()
        link.start(recorder)
        secure(true)
        #expect(link.send([0x0A, 1, 0]) == .full)
        await kernel.idle()
        // Another thread asks right behind the loop's look whether there is room.
        kernel.with { $0.afterLook = { link.encrypt { outcomes.add($0) } } }
        secure(false)
        await kernel.idle()
        #expect(outcomes.all.isEmpty)
        secure(false, level: 2)
        await kernel.idle()
        #expect(outcomes.all.count == 1 && outcomes.all.first?.failure == nil)
        link.disconnect()
        _ = await recorder.untilEnd()
    }

    /// It requests a pairing for that, lets it fail, and then requests that the present keys be put into force again;
    /// also while this program pairs by itself.
    @Test(arguments: [false, true])
    func `a peer can't have its link taken for a better one by a pairing that has failed`(isOwn: Bool) async throws {
        let loop = try EventLoop(name: "test", on: kernel.kernel)
        let environment = FakeEnvironment()
        let link = SocketLink(testing: try connectedSocket(), loop: loop, environment: environment)
        let recorder = LinkRecorder()
        link.start(recorder)
        secure(false, level: 2)
        await kernel.idle()
        let failed = try #require(environment.watched[.example])
        failed(isOwn ? nil : BLEError(.securityFailed, operation: "test", cause: "refused"))
        secure(false, level: 3)
        await kernel.idle()
        #expect(link.security.level == .encrypted)
        environment.tellKey(of: .encrypted)
        #expect(link.security.level == .encrypted)
        // One that has succeeded counts.
        environment.tellKey(of: .authenticated)
        #expect(link.security.level == .authenticated)
        link.disconnect()
        _ = await recorder.untilEnd()
    }

    /// It requests a pairing for better keys than there are, which this side refuses, while those encrypt the link: the
    /// kernel reports the level that was requested.
    @Test(arguments: [true, false])
    func `who waits for a key waits on for a moment where a pairing has failed`(_ fits: Bool) async throws {
        let (loop, timeline) = (try EventLoop(name: "test", on: kernel.kernel), HandTimeline())
        let environment = FakeEnvironment(timeline)
        environment.tellKey(of: .encrypted)
        let link = SocketLink(testing: try connectedSocket(), loop: loop, environment: environment)
        let (recorder, outcomes) = (LinkRecorder(), FakeRun.Collector<Result<Void, BLEError>>())
        link.start(recorder)
        await kernel.idle()
        link.encrypt { outcomes.add($0) }
        let failed = try #require(environment.watched[.example])
        // Twice, which gives it no longer.
        for _ in 0..<2 { failed(BLEError(.securityFailed, operation: "test", cause: "refused")) }
        await kernel.idle()
        #expect(outcomes.all.isEmpty && timeline.delays.filter { $0 == SocketLink.keyPatience }.count == 1)
        if fits { secure(false, level: 3) }
        await kernel.idle()
        timeline.fire(SocketLink.keyPatience)
        await kernel.idle()
        #expect(outcomes.all.count == 1 && (outcomes.all.first?.failure == nil) == fits)
        #expect(environment.drops.isEmpty == fits)
        if fits {
            #expect(link.security.level == .encrypted)
            #expect(link.send([0x0A, 1, 0]) == .sent)
            link.disconnect()
        }
        #expect(await recorder.untilEnd().reason?.kind == (fits ? .closedLocally : .authenticationFailed))
    }

    @Test func `one that can't be encrypted says so at once, and stays open`() throws {
        let loop = try EventLoop(name: "test")
        let (near, far) = try SocketPair.numbers()
        let link = loop.link(takingOver: near, peer: .example, timeline: HandTimeline())
        let other = loop.link(takingOver: far, peer: .example, timeline: HandTimeline())
        let outcomes = FakeRun.Collector<Result<Void, BLEError>>()
        link.encrypt { outcomes.add($0) }
        let failure = outcomes.all.first?.failure
        #expect(outcomes.all.count == 1 && failure?.code == .securityFailed && failure?.systemError != nil)
        #expect(failure?.operation == "encrypt link" && failure?.remedy.isEmpty == false)
        #expect(link.send([0x0A, 1, 0]) == .sent)
        link.disconnect()
        other.disconnect()
    }
}
