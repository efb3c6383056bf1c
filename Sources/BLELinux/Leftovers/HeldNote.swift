internal import Synchronization

/// The note of the one thing that an advertisement or a scan has in the kernel.
///
/// One thread may learn that the thing could not be removed while another one is about to remove the note, since it has
/// asked for that. So a note is removed, or left, under the lock.
final class HeldNote: Sendable {
    private let leftovers: Leftovers
    private let note = Mutex<LeftoverNote?>(nil)

    init(in leftovers: Leftovers) { self.leftovers = leftovers }

    /// Notes something that is about to be made, in place of what is gone; `false` if another running program of this
    /// library has it.
    func hold(_ thing: KernelThing) -> Bool {
        note.withLock { note in
            if note?.thing == thing { return true }
            note?.forget()
            note = leftovers.note(thing)
            return note != nil
        }
    }

    /// Removes the note, unless it is of the thing with this number: the kernel no longer has another one.
    func forget(unless number: UInt16? = nil) {
        note.withLock { note in
            guard let held = note, held.thing.number != number else { return }
            held.forget()
            note = nil
        }
    }

    /// Leaves the note of something that the kernel may still have: whoever makes the next one there, this program or
    /// another one, removes it.
    func leave(_ thing: KernelThing) {
        note.withLock { note in
            if note?.thing == thing { note = nil }
            leftovers.leave(thing)
        }
    }
}
