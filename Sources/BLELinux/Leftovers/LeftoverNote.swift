/// The note of one thing in the kernel, held by the one program that answers for it.
///
/// Who holds it has a socket by its name, which the kernel takes back when the program ends: so no number of a process that
/// another one has got since, and no other container's processes, lead astray. Let go without ``forget()`` it stays, to
/// be found by the next program.
final class LeftoverNote: Sendable {
    let thing: KernelThing
    /// `nil` where there is no place for notes.
    private let folder: NoteFolder?
    /// `nil` where the system lets the program open no more sockets.
    private let claim: SharedDescriptor?

    /// Takes a note, whether it is written or not; `nil` where another program has it, which runs.
    init?(_ thing: KernelThing, in folder: NoteFolder?, of kernel: Kernel) {
        do throws(SystemError) {
            claim = SharedDescriptor(try .namedSocket("blestreams/\(thing.noteName)", of: kernel))
        } catch .addressInUse {
            return nil
        } catch {
            claim = nil
        }
        self.thing = thing
        self.folder = folder
    }

    var text: String? { folder?.read(thing.noteName) }

    func write(_ text: String) { folder?.write(text, as: thing.noteName) }

    /// Strikes it out: the kernel hasn't got the thing any more.
    func forget() { folder?.remove(thing.noteName) }
}
