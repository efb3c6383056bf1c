import BLEProtocol
import Testing

@testable import BLEStreams

@Suite struct AttemptListeningTests {
    private typealias Output = AttemptListening.Output

    private static let sensor = BluetoothAddress(rawValue: 0xC0_0000_0000_01, kind: .random)
    private static let other = BluetoothAddress(rawValue: 0xC0_0000_0000_02, kind: .random)
    private static let counts = Output(timer: .start(.seconds(60)))

    private func machine() -> AttemptListening { AttemptListening(patience: .seconds(60)) }

    /// One that listens, since an attempt has waited in vain.
    private func listening() -> AttemptListening {
        var machine = machine()
        #expect(machine.began(Self.sensor) == Self.counts)
        #expect(machine.timerFired() == Output(listens: true))
        #expect(machine.isListening)
        machine.scanStarted()
        return machine
    }

    @Test func `an attempt that waits in vain is listened beside, until somebody is heard`() {
        var machine = listening()
        #expect(machine.heard([Self.other], at: .zero) == Output(timer: .start(.seconds(60)), listens: false))
        machine.scanStopped()
        #expect(machine.timerFired() == Output(listens: true))
        #expect(machine.ended(Self.sensor, isLinked: true) == Output(listens: false))
        #expect(machine.timerFired() == Output())
    }

    @Test func `an attempt that succeeds in time costs nothing`() {
        var machine = machine()
        _ = machine.began(Self.sensor)
        #expect(machine.ended(Self.sensor, isLinked: true) == Output(timer: .cancel))
        #expect(machine.timerFired() == Output())
        #expect(machine.began(Self.sensor) == Self.counts)
    }

    @Test func `short attempts one after the other wait in vain too`() {
        var machine = machine()
        _ = machine.began(Self.sensor)
        #expect(machine.ended(Self.sensor, isLinked: false) == Output())
        #expect(machine.timerFired() == Output())
        #expect(machine.began(Self.sensor) == Output(listens: true))
        #expect(machine.ended(Self.sensor, isLinked: false) == Output(listens: false))
        #expect(machine.began(Self.sensor) == Output(listens: true))
    }

    @Test func `an attempt that begins in vain beside somebody else's scan is listened beside once that has ended`() {
        var machine = machine()
        _ = machine.began(Self.sensor)
        _ = machine.ended(Self.sensor, isLinked: false)
        #expect(machine.timerFired() == Output())
        machine.scanStarted()
        #expect(machine.began(Self.sensor) == Self.counts)
        machine.scanStopped()
        #expect(machine.timerFired() == Output(listens: true))
    }

    @Test func `nothing is added to a scan that somebody else makes`() {
        var machine = machine()
        machine.scanStarted()
        _ = machine.began(Self.sensor)
        #expect(machine.timerFired() == Self.counts)
        machine.scanStopped()
        #expect(machine.timerFired() == Output(listens: true))
    }

    @Test func `whoever was heard meanwhile puts it off, and links of others do`() {
        var machine = machine()
        _ = machine.began(Self.sensor)
        #expect(machine.heard([Self.other], at: .zero) == Output())
        #expect(machine.timerFired() == Self.counts)
        _ = machine.began(Self.other)
        #expect(machine.ended(Self.other, isLinked: true) == Output())
        #expect(machine.timerFired() == Self.counts)
        #expect(machine.timerFired() == Output(listens: true))
    }

    @Test func `one silent peer is no deaf adapter`() {
        var machine = machine()
        _ = machine.heard([Self.sensor], at: .zero)
        _ = machine.began(Self.sensor)
        #expect(machine.timerFired() == Output(listens: true))
        #expect(!machine.missesOthers)
        _ = machine.heard([Self.other], at: .zero)
        #expect(!machine.missesOthers)
        #expect(machine.timerFired() == Output(listens: true))
        #expect(machine.missesOthers)
        // Who is connected to as well is no other.
        _ = machine.began(Self.other)
        #expect(!machine.missesOthers)
    }

    @Test func `a peer that is linked is not missed, unless it was received beside its link`() {
        var machine = machine()
        _ = machine.heard([Self.other], at: .zero)
        _ = machine.began(Self.other)
        #expect(machine.ended(Self.other, isLinked: true) == Output(timer: .cancel))
        _ = machine.began(Self.sensor)
        #expect(machine.timerFired() == Output(listens: true))
        #expect(!machine.missesOthers)
        _ = machine.heard([Self.other], at: .zero)
        #expect(machine.timerFired() == Output(listens: true))
        #expect(machine.missesOthers)
    }

    @Test func `who passed by is missed as long as nobody is received, and not once others were for days`() {
        let day = Duration.seconds(86_400)
        var machine = machine()
        _ = machine.heard([Self.other], at: .seconds(82_800))
        _ = machine.heard([Self.sensor], at: day)
        _ = machine.began(Self.sensor)
        #expect(machine.timerFired() == Output(listens: true))
        #expect(machine.missesOthers)
        _ = machine.heard([Self.sensor], at: day * 2)
        #expect(machine.timerFired() == Output(listens: true))
        #expect(!machine.missesOthers)
    }

    @Test func `who is received each day is missed for as long as that goes on`() {
        let day = Duration.seconds(86_400)
        var machine = machine()
        for number in 0..<5 { _ = machine.heard([Self.other, Self.sensor], at: day * number) }
        _ = machine.began(Self.sensor)
        _ = machine.timerFired()
        #expect(machine.isListening && machine.missesOthers)
    }

    @Test func `who was received days ago and is linked is not missed`() {
        var machine = machine()
        _ = machine.heard([Self.other], at: .zero)
        _ = machine.heard([Self.sensor], at: .seconds(86_400))
        _ = machine.began(Self.other)
        _ = machine.ended(Self.other, isLinked: true)
        _ = machine.began(Self.sensor)
        _ = machine.timerFired()
        #expect(machine.isListening && !machine.missesOthers)
    }

    @Test func `a peer that another adapter has linked is not missed, and that shows no reception here`() {
        var machine = machine()
        _ = machine.heard([Self.other], at: .zero)
        _ = machine.began(Self.sensor)
        machine.linkedElsewhere(Self.other)
        #expect(machine.timerFired() == Output(listens: true))
        #expect(!machine.missesOthers)
    }

    @Test func `where it is of no use it is quiet, until the adapter is on again or somebody is heard`() {
        var machine = listening()
        #expect(machine.giveUp() == Output(listens: false))
        #expect(machine.timerFired() == Output())
        #expect(machine.ended(Self.sensor, isLinked: false) == Output())
        #expect(machine.began(Self.sensor) == Output())
        #expect(machine.adapterReturned() == Self.counts)
        _ = machine.giveUp()
        #expect(machine.heard([Self.other], at: .zero) == Self.counts)
    }

    // MARK: - Private addresses

    private static let key = SecretKey(octets: Array(1...16))

    /// A machine that listens for somebody, once others were received.
    private func listening(
        for peer: BluetoothAddress,
        behind received: [BluetoothAddress],
        _ identities: KnownIdentities
    ) -> AttemptListening {
        var machine = AttemptListening(patience: .seconds(60), identity: identities.identity(of:))
        for peer in received { _ = machine.heard([peer], at: .zero) }
        _ = machine.began(peer)
        _ = machine.timerFired()
        #expect(machine.isListening)
        return machine
    }

    private func bond(_ key: SecretKey) -> Bond {
        Bond(peer: Self.sensor, adapter: Self.other, encryptionKeys: [], identityKey: key)
    }

    @Test func `who was received under private addresses and is awaited as the one behind them is no other`() throws {
        let key = try #require(Self.key)
        let identities = KnownIdentities()
        let received = [key.privateAddress(1), key.privateAddress(2)]
        var machine = listening(for: Self.sensor, behind: received, identities)
        #expect(machine.missesOthers)
        // The key is learned behind the receptions.
        identities.add(bond(key))
        #expect(!machine.missesOthers)
        _ = machine.heard([key.privateAddress(3)], at: .zero)
        _ = machine.timerFired()
        #expect(machine.isListening && !machine.missesOthers)
        _ = machine.heard([Self.other], at: .zero)
        _ = machine.timerFired()
        #expect(machine.isListening && machine.missesOthers)
    }

    @Test func `who is awaited under a private address and was received as the one behind it is no other`() throws {
        let key = try #require(Self.key)
        let identities = KnownIdentities()
        identities.add(bond(key))
        let received = [Self.sensor, key.privateAddress(1)]
        let machine = listening(for: key.privateAddress(2), behind: received, identities)
        #expect(!machine.missesOthers)
    }

    @Test func `who was received under a private address and is linked as the one behind it is not missed`() throws {
        let key = try #require(Self.key)
        let identities = KnownIdentities()
        var machine = listening(for: Self.sensor, behind: [key.privateAddress(1)], identities)
        identities.add(bond(key))
        _ = machine.ended(Self.sensor, isLinked: true)
        _ = machine.began(Self.other)
        _ = machine.timerFired()
        #expect(machine.isListening && !machine.missesOthers)
    }

    @Test func `the changing addresses of one leave room for others`() throws {
        let key = try #require(Self.key)
        let identities = KnownIdentities()
        identities.add(bond(key))
        let received = (1...100).map { key.privateAddress($0) } + [Self.other]
        let machine = listening(for: Self.sensor, behind: received, identities)
        #expect(machine.missesOthers)
        let alone = listening(for: Self.sensor, behind: Array(received.dropLast()), identities)
        #expect(!alone.missesOthers)
    }
}
