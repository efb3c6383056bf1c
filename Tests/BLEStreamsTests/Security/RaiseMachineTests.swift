import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// When a link is raised, for whom, and how often.
struct RaiseMachineTests {
    private typealias Output = RaiseMachine.Output
    private typealias Finished = RaiseMachine.Finished

    private var machine = RaiseMachine()

    private mutating func wantRefused(_ level: LinkSecurity.Level, _ token: Int, at current: LinkSecurity.Level? = nil)
        -> Output
    {
        machine.want(level, token, isRefused: true, at: current)
    }

    private static func begin(_ level: LinkSecurity.Level, _ token: Int) -> Output {
        Output(begin: RaiseMachine.Begin(level: level, token: token))
    }

    private static func told(_ outcome: RaiseMachine.Outcome, _ tokens: Int...) -> Output {
        Output(finished: tokens.map { Finished(token: $0, outcome: outcome) })
    }

    @Test(
        arguments: [
            (ATTError.insufficientAuthentication, nil, LinkSecurity.Level.encrypted),
            (.insufficientEncryption, nil, .encrypted),
            (.encryptionKeySizeTooShort, nil, .encrypted),
            (.insufficientAuthentication, .encrypted, .authenticated),
            (.insufficientEncryption, .encrypted, nil),
            (.insufficientAuthentication, .authenticated, nil),
            (.encryptionKeySizeTooShort, .encrypted, nil),
            (.insufficientAuthorization, nil, nil),
            (.readNotPermitted, nil, nil),
        ] as [(ATTError, LinkSecurity.Level?, LinkSecurity.Level?)]
    )
    func `a refusal says what is missing`(error: ATTError, current: LinkSecurity.Level?, needed: LinkSecurity.Level?) {
        let security = LinkSecurity(
            isEncrypted: current != nil,
            isAuthenticated: current == .authenticated,
            keySize: current == nil ? 0 : 16
        )
        #expect(RaiseMachine.level(for: error, at: security) == needed)
    }

    @Test mutating func `several who are refused at once raise the link once`() {
        #expect(wantRefused(.encrypted, 1) == Self.begin(.encrypted, 1))
        #expect(wantRefused(.encrypted, 2) == Output())
        #expect(machine.isRaising)
        #expect(machine.ended(at: .encrypted) == Self.told(.reached, 1, 2))
        #expect(!machine.isRaising && machine.rises == 1)
    }

    @Test mutating func `what the link has need not be brought about`() {
        #expect(wantRefused(.encrypted, 1, at: .authenticated) == Self.told(.reached, 1))
        #expect(machine.rises == 0)
    }

    @Test mutating func `a peer that refuses for ever brings about one try for a level`() {
        #expect(wantRefused(.encrypted, 1) == Self.begin(.encrypted, 1))
        #expect(machine.ended(at: nil) == Self.told(.failed(.encrypted), 1))
        #expect(machine.rises == 0)
        #expect(wantRefused(.encrypted, 2) == Self.told(.failed(.encrypted), 2))
        #expect(wantRefused(.authenticated, 3, at: .encrypted) == Self.begin(.authenticated, 3))
        #expect(machine.ended(at: .encrypted) == Self.told(.failed(.authenticated), 3))
        #expect(wantRefused(.authenticated, 4, at: .encrypted) == Self.told(.failed(.authenticated), 4))
    }

    @Test mutating func `what a failed try has shut is open once the program itself has raised the link`() {
        #expect(wantRefused(.encrypted, 1) == Self.begin(.encrypted, 1))
        #expect(machine.ended(at: nil) == Self.told(.failed(.encrypted), 1))
        #expect(machine.want(.authenticated, 2, isRefused: false, at: nil) == Self.begin(.authenticated, 2))
        #expect(machine.ended(at: .authenticated) == Self.told(.reached, 2))
        #expect(wantRefused(.encrypted, 3, at: .authenticated) == Self.told(.reached, 3))
        #expect(machine.rises == 1)
    }

    @Test mutating func `the program itself may try again`() {
        #expect(wantRefused(.encrypted, 1) == Self.begin(.encrypted, 1))
        #expect(machine.ended(at: nil) == Self.told(.failed(.encrypted), 1))
        let again = machine.want(.encrypted, 2, isRefused: false, at: nil)
        #expect(again == Self.begin(.encrypted, 2))
        // Who is refused meanwhile waits for that, too.
        #expect(wantRefused(.encrypted, 3) == Output())
        #expect(machine.ended(at: .encrypted) == Self.told(.reached, 2, 3))
    }

    @Test mutating func `what the program itself has tried in vain is tried once for operations, with their answers`() {
        #expect(machine.want(.encrypted, 1, isRefused: false, at: nil) == Self.begin(.encrypted, 1))
        #expect(machine.ended(at: nil) == Self.told(.failed(.encrypted), 1))
        #expect(wantRefused(.encrypted, 2) == Self.begin(.encrypted, 2))
        #expect(machine.ended(at: nil) == Self.told(.failed(.encrypted), 2))
        #expect(wantRefused(.encrypted, 3) == Self.told(.failed(.encrypted), 3))
    }

    @Test mutating func `an operation that has waited for a try of the program's has had its own`() {
        #expect(machine.want(.encrypted, 1, isRefused: false, at: nil) == Self.begin(.encrypted, 1))
        #expect(wantRefused(.encrypted, 2) == Output())
        #expect(machine.ended(at: nil) == Self.told(.failed(.encrypted), 1, 2))
        #expect(wantRefused(.encrypted, 3) == Self.told(.failed(.encrypted), 3))
    }

    @Test mutating func `who wants more than a try was for has another one`() {
        #expect(wantRefused(.encrypted, 1) == Self.begin(.encrypted, 1))
        #expect(machine.want(.authenticated, 2, isRefused: false, at: nil) == Output())
        var next = Self.told(.reached, 1)
        next.begin = RaiseMachine.Begin(level: .authenticated, token: 2)
        #expect(machine.ended(at: .encrypted) == next)
        #expect(machine.isRaising)
        #expect(machine.ended(at: .encrypted) == Self.told(.failed(.authenticated), 2))
    }

    @Test mutating func `a try that has failed is no reason for a harder one`() {
        #expect(wantRefused(.encrypted, 1) == Self.begin(.encrypted, 1))
        #expect(machine.want(.authenticated, 2, isRefused: false, at: nil) == Output())
        #expect(machine.ended(at: nil) == Self.told(.failed(.encrypted), 1, 2))
        #expect(!machine.isRaising)
    }

    @Test mutating func `a try is given up with the last one who waits, and doesn't count`() {
        #expect(wantRefused(.encrypted, 1) == Self.begin(.encrypted, 1))
        #expect(wantRefused(.encrypted, 2) == Output())
        #expect(machine.leave(1) == Output())
        #expect(machine.leave(2) == Output(isGivenUp: true))
        #expect(machine.leave(2) == Output())
        #expect(!machine.isRaising)
        #expect(wantRefused(.encrypted, 3) == Self.begin(.encrypted, 3))
    }

    @Test mutating func `closing the link gives a try up`() {
        #expect(wantRefused(.encrypted, 1) == Self.begin(.encrypted, 1))
        var closed = Self.told(.ended, 1)
        closed.isGivenUp = true
        #expect(machine.close() == closed)
        #expect(machine.ended(at: .encrypted) == Output())
        #expect(wantRefused(.encrypted, 2) == Self.told(.ended, 2))
    }

    @Test mutating func `a try tells itself why the link was lost meanwhile`() {
        #expect(wantRefused(.encrypted, 1) == Self.begin(.encrypted, 1))
        #expect(machine.want(.authenticated, 2, isRefused: false, at: nil) == Output())
        #expect(machine.linkEnded() == Output())
        #expect(machine.ended(at: nil) == Self.told(.failed(.encrypted), 1, 2))
        #expect(wantRefused(.encrypted, 3) == Self.told(.ended, 3))
    }
}
