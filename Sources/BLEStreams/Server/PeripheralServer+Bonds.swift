import BLEProtocol
import BLERadio
import Synchronization

// The adapter has the keys of all bonds while the peripheral is served.
extension PeripheralServer {
    /// Loads the keys of the bonds into the adapter, so that a bonded central's link is encrypted without another
    /// pairing. An adapter that was never given a list, not even an empty one, doesn't accept the identity of a central
    /// with a private address.
    func restoreBonds() async throws {
        let outcome: ([Bond], BLEError?) = try await reply(on: radio.timeline) { finish in
            self.served.store.restoreAllBonds(
                to: self.radio,
                read: { self.given.note($0, areAll: $1) },
                result: { finish(.success(($0, $1))) }
            )
        }
        if let error = outcome.1 { bondsNotRestored(outcome.0, error) }
    }

    private func bondsNotRestored(_ bonds: [Bond], _ error: BLEError) {
        // A shortage or a controller that is slow to answer passes.
        if !error.isFinal { given.note([], areAll: false) }
        let local = radio.adapterInfo.address
        // A server can do without them: another program may have given the adapter its keys.
        guard bonds.contains(where: { local == nil || $0.adapter == local }) else { return }
        warnings.tell(.bondsNotRestored(error.code)) { _ in error }
    }

    /// Loads them once more.
    func restoreBondsAgain() {
        let (store, radio, given) = (served.store, radio, given)
        unattended(
            { answer in
                RadioActivity(
                    onCancel: store.restoreAllBonds(
                        to: radio,
                        read: { given.note($0, areAll: $1) },
                        result: { [weak self] bonds, error in
                            if let error { self?.bondsNotRestored(bonds, error) }
                            answer(error)
                        }
                    )
                )
            },
            answer: { (_: BLEError?) in }
        )
    }

    /// How often bonds that can't be read are looked for again.
    private static let readingAgain = Duration.seconds(60)

    /// Gives the adapter the bonds that could not be read or loaded the last time, at the start or later, once they can
    /// be: a shortage of descriptors passes, and nobody tells of a file that has been mended. Until then their centrals
    /// can't encrypt.
    func restoreUnreadBonds() async {
        for await _ in given.bells {
            while true {
                do { try await pause(for: Self.readingAgain, on: radio.timeline) } catch { return }
                guard let peers = given.peers else { break }
                // When it is on again, they are loaded in any case.
                guard radio.adapterInfo.state == .poweredOn else { continue }
                let now = await readBonds()
                if now.areAll || !now.peers.isSubset(of: peers) { restoreBondsAgain() }
            }
        }
    }

    /// The peers whose bonds can be read, and whether these are all.
    private func readBonds() async -> (peers: Set<BluetoothAddress>, areAll: Bool) {
        let store = served.store
        return await withCheckedContinuation { continuation in
            store.perform(on: radio.timeline) {
                let (bonds, obstacle) = store.knownBonds()
                continuation.resume(returning: (Set(bonds.map(\.peer)), obstacle == nil))
            }
        }
    }
}

/// The bonds that the adapter was last given, where others could not be read; none where it has refused them.
final class GivenBonds: Sendable {
    private let given = Mutex<Set<BluetoothAddress>?>(nil)
    /// Rings when the adapter may lack bonds.
    let bells: AsyncStream<Void>
    private let bell: AsyncStream<Void>.Continuation

    init() { (bells, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)) }

    /// The peers of these bonds; `nil`: all bonds were given.
    var peers: Set<BluetoothAddress>? { given.withLock { $0 } }

    /// The adapter is given bonds.
    func note(_ bonds: [Bond], areAll: Bool) {
        given.withLock { $0 = areAll ? nil : Set(bonds.map(\.peer)) }
        if !areAll { bell.yield() }
    }
}
