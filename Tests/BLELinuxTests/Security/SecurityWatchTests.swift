import BLEProtocol
import BLERadio
import Synchronization
import Testing

@testable import BLELinux

@Suite struct SecurityWatchTests {
    private let identity = BluetoothAddress(rawValue: 0xD83A_5E00_0002, kind: .random)

    @Test func `a peer that has told its identity is watched under that, until the watch is cancelled`() {
        let watch = SecurityWatch(management: nil)
        let failures = Mutex(0)
        let activity = watch.watch(.example) { _ in failures.withLock { $0 += 1 } }
        watch.failed(.example, .authenticationFailed)
        watch.rename(.example, to: identity)
        watch.failed(.example, .authenticationFailed)
        #expect(failures.withLock { $0 } == 1)
        watch.failed(identity, .authenticationFailed)
        #expect(failures.withLock { $0 } == 2)
        activity.cancel()
        watch.failed(identity, .authenticationFailed)
        #expect(failures.withLock { $0 } == 2)
    }

    @Test func `an identity is known by the private address that it was told under, of the latest peers`() {
        let watch = SecurityWatch(management: nil)
        #expect(watch.identity(of: .example) == nil)
        for number in UInt64(1)...1000 {
            watch.rename(BluetoothAddress(rawValue: 0x4000_0000_0000 + number, kind: .random), to: identity)
        }
        watch.rename(.example, to: identity)
        #expect(watch.identity(of: .example) == identity)
        #expect(watch.identity(of: BluetoothAddress(rawValue: 0x4000_0000_0001, kind: .random)) == nil)
        #expect(watch.identity(of: identity) == nil)
    }

    @Test func `the identity of a peer is known as long as its link is up, whoever pairs meanwhile`() {
        let watch = SecurityWatch(management: nil)
        let link = watch.watch(.example) { _ in }
        watch.rename(.example, to: identity)
        func othersPair() {
            for number in UInt64(1)...1000 {
                let address = BluetoothAddress(rawValue: 0x4000_0000_0000 + number, kind: .random)
                watch.rename(address, to: BluetoothAddress(rawValue: 0xC000_0000_0000 + number, kind: .random))
            }
        }
        othersPair()
        #expect(watch.identity(of: .example) == identity)
        link.cancel()
        othersPair()
        #expect(watch.identity(of: .example) == nil)
    }

    /// A link must not be taken for a better one by a pairing that fails meanwhile.
    @Test func `a failure while this program pairs by itself is told, though not as that of the peer's wish`() {
        let watch = SecurityWatch(management: nil)
        let told = FakeRun.Collector<BLEError?>()
        let activity = watch.watch(.example) { told.add($0) }
        let disengage = watch.engage(.example)
        watch.failed(.example, .authenticationFailed)
        watch.rename(.example, to: identity)
        watch.failed(identity, .authenticationFailed)
        disengage()
        watch.failed(identity, .authenticationFailed)
        #expect(told.all.map { $0 == nil } == [true, true, false])
        activity.cancel()
    }

    @Test func `a peer whose identity is its address stays what it is`() {
        let watch = SecurityWatch(management: nil)
        let failures = Mutex(0)
        let activity = watch.watch(.example) { _ in failures.withLock { $0 += 1 } }
        watch.rename(.example, to: .example)
        watch.failed(.example, .authenticationFailed)
        #expect(failures.withLock { $0 } == 1)
        activity.cancel()
    }
}
