internal import Synchronization

/// The note of one thing in the kernel, held by the program that is responsible for it.
///
/// The holder has a socket with its name, which the kernel frees when the program ends: so neither reused process
/// numbers nor the processes of other containers mislead. If it is released without ``forget()``, it stays, and the
/// next program finds it.
final class LeftoverNote: Sendable {
    let thing: KernelThing
    /// `nil` if there is no place for notes.
    private let folder: NoteFolder?
    /// `nil` if the system doesn't let the program open more sockets.
    private let claim: SharedDescriptor?
    /// Where it is held without a claim.
    private let unclaimed: Place?

    private struct Place: Hashable, Sendable {
        var kernel: ObjectIdentifier?
        var name: String
    }

    /// Where this program holds notes without a claim: another advertisement would take the same place in the kernel.
    private static let held = Mutex<Set<Place>>([])

    /// The names of the notes that this program holds without a claim.
    static func unclaimedNames(of kernel: Kernel) -> [String] {
        let kernel = kernel.substitute.map { ObjectIdentifier($0) }
        return held.withLock { held in held.filter { $0.kernel == kernel }.map(\.name) }
    }

    /// Takes a note, whether or not it is written; `nil` if another running program holds it.
    init?(_ thing: KernelThing, in folder: NoteFolder?, of kernel: Kernel) {
        let place = Place(kernel: kernel.substitute.map { ObjectIdentifier($0) }, name: thing.noteName)
        if Self.held.withLock({ $0.contains(place) }) { return nil }
        let claim: SharedDescriptor?
        do throws(SystemError) {
            claim = SharedDescriptor(try .namedSocket("blestreams/\(thing.noteName)", of: kernel))
        } catch .addressInUse {
            return nil
        } catch {
            claim = nil
        }
        self.thing = thing
        self.folder = folder
        self.claim = claim
        unclaimed = claim == nil ? place : nil
        if claim == nil { Self.held.withLock { _ = $0.insert(place) } }
    }

    deinit {
        if let unclaimed { Self.held.withLock { _ = $0.remove(unclaimed) } }
    }

    /// Whether it is certain that nobody else holds it.
    var isClaimed: Bool { claim != nil }
    var text: String? { folder?.read(thing.noteName) }

    func write(_ text: String) { folder?.write(text, as: thing.noteName) }

    /// Removes it: the kernel no longer has the thing.
    func forget() { folder?.remove(thing.noteName) }
}
