internal import BLEProtocol

/// Remembers, beyond the end of the program, what it has left in the kernel.
///
/// The kernel removes neither an advertising instance nor an advertisement monitor when the program that made it is
/// killed, and an adapter's settings stay as they are. So each is noted before it is made, as a ``LeftoverNote``, and
/// what an ended program has noted is removed before the next one makes its own.
///
/// The kernel could also end an instance by itself, after a time that the program keeps extending. But an extension
/// stops and restarts the advertising, gives a non-connectable one another address, fails on some controllers while a
/// central is connected, and affects another instance if there are several; and monitors have no such time.
struct Leftovers: Sendable {
    /// `nil` if there is no place for notes: then nothing is remembered.
    private let folder: NoteFolder?
    /// The identifier of this boot of the machine.
    private let boot: String
    private let kernel: Kernel

    init(folder: NoteFolder?, boot: String, of kernel: Kernel = .ofThisMachine) {
        self.folder = folder
        self.boot = boot
        self.kernel = kernel
    }

    /// The leftovers of this user's programs on a machine.
    static func ofThisUser(of kernel: Kernel) -> Leftovers {
        Leftovers(folder: .ofThisUser(of: kernel), boot: .currentBoot(of: kernel), of: kernel)
    }

    /// Notes something that is about to be made; `nil` if another running program of this library has it.
    ///
    /// If the system gives no socket for a claim, nothing is written: the note would be taken for an ended program's as
    /// soon as there is one. Only an adapter that is off for a moment is to be switched on by whoever finds it.
    func note(_ thing: KernelThing) -> LeftoverNote? {
        guard let note = LeftoverNote(thing, in: folder, of: kernel) else { return nil }
        if note.isClaimed || thing.kind == .off { note.write(boot) }
        return note
    }

    /// Notes something that this program has no more to do with, unless another running program of this library has it.
    func leave(_ thing: KernelThing) { LeftoverNote(thing, in: folder, of: kernel)?.write(boot) }

    /// What ended programs have left on an adapter; while a note is held, no other program takes it.
    ///
    /// If the system gives no socket for a claim, nothing tells whether the program has ended, and what it has made
    /// stays; but an adapter that it has switched off for a moment is to be on again in any case.
    func left(on adapter: AdapterFacts) -> [LeftoverNote] {
        guard let folder else { return [] }
        let name = KernelThing.name(of: adapter)
        var left: [LeftoverNote] = []
        for entry in folder.names.sorted() {
            guard let thing = KernelThing(noteName: entry), thing.adapter == name,
                let note = LeftoverNote(thing, in: folder, of: kernel)
            else { continue }
            // What was noted before the machine's last boot has gone with its kernel.
            if note.text != boot { note.forget() } else if note.isClaimed || thing.kind == .off { left.append(note) }
        }
        return left
    }
}

extension String {
    /// The identifier of this boot of the machine.
    static func currentBoot(of kernel: Kernel) -> String {
        textFile("/proc/sys/kernel/random/boot_id", of: kernel) ?? "unknown"
    }
}

extension Leftovers {
    /// What running programs of this library have in the kernel for an adapter, or may have.
    func held(on adapter: AdapterFacts) -> [KernelThing] {
        let name = KernelThing.name(of: adapter)
        let names = Set(folder?.names ?? []).union(LeftoverNote.unclaimedNames(of: kernel))
        return names.sorted().compactMap { KernelThing(noteName: $0) }.filter { thing in
            guard thing.adapter == name else { return false }
            guard let note = LeftoverNote(thing, in: folder, of: kernel) else { return true }
            return !note.isClaimed && note.text == boot
        }
    }

    /// Removes what ended programs have left on an adapter, then continues; immediately if there is nothing.
    ///
    /// Settings stay as they are if bluetoothd runs, or may run: it may have set them meanwhile.
    ///
    /// - Parameter bluetoothd: whether it runs; called only if a setting was left.
    func clear(
        of adapter: AdapterFacts,
        through management: ManagementSocket,
        bluetoothd: (() -> Bluetoothd.Presence)? = nil,
        then proceed: @escaping @Sendable () -> Void
    ) {
        var notes = left(on: adapter)
        if notes.contains(where: \.thing.kind.isSetting), presence(bluetoothd) != .absent {
            for note in notes where note.thing.kind.isSetting { note.forget() }
            notes.removeAll(where: \.thing.kind.isSetting)
        }
        Self.clear(notes[...], through: management, then: proceed)
    }

    /// Switches an adapter on that a program had switched off briefly when it was killed. If the adapter is on by now,
    /// or bluetoothd controls it, only the note is removed.
    func restorePower(
        of adapter: AdapterFacts,
        through management: ManagementSocket,
        bluetoothd: (() -> Bluetoothd.Presence)? = nil
    ) {
        guard let note = left(on: adapter).first(where: { $0.thing.kind == .off }) else { return }
        guard !adapter.isUp, presence(bluetoothd) == .absent else { return note.forget() }
        Self.clear([note][...], through: management) {}
    }

    private func presence(_ told: (() -> Bluetoothd.Presence)?) -> Bluetoothd.Presence {
        told?() ?? Bluetoothd.presenceByProcesses(on: kernel)
    }

    /// Forgets that an adapter must be switched on again: a newer request for its power counts.
    func forgetPower(of adapter: AdapterFacts) {
        for note in left(on: adapter) where note.thing.kind == .off { note.forget() }
    }

    private static func clear(
        _ notes: ArraySlice<LeftoverNote>,
        through management: ManagementSocket,
        then proceed: @escaping @Sendable () -> Void
    ) {
        guard let note = notes.first else { return proceed() }
        let answered: @Sendable (ManagementFailure?) -> Void = { failure in
            note.forget(unless: failure)
            clear(notes.dropFirst(), through: management, then: proceed)
        }
        switch note.thing.kind {
        case .advertisement:
            let instance = UInt8(truncatingIfNeeded: note.thing.number)
            management.submit(ManagementRemoveAdvertising(instance: instance)) { answered($0.failure) }
        case .monitor:
            management.submit(ManagementRemoveMonitor(handle: note.thing.number)) { answered($0.failure) }
        case .bondable: PairingSwitch.bondable.set(false, management, answered)
        case .secureConnections: PairingSwitch.secureConnections.set(false, management, answered)
        case .capability:
            management.submit(ManagementSetIOCapability(.noInputNoOutput)) { answered($0.failure) }
        case .outOfBandData:
            management.submit(ManagementRemoveAllRemoteOutOfBandData()) { answered($0.failure) }
        case .off:
            management.submit(ManagementSetLowEnergy(true)) { _ in
                management.submit(ManagementSetPowered(true)) { answered($0.failure) }
            }
        }
    }
}

extension KernelThing.Kind {
    fileprivate var isSetting: Bool {
        switch self {
        case .advertisement, .monitor, .outOfBandData: false
        case .bondable, .secureConnections, .capability, .off: true
        }
    }
}

extension LeftoverNote {
    /// Removes it after the command that removes the thing, or puts the setting back; if that failed, the note is left
    /// to whoever comes next.
    func forget(unless failure: ManagementFailure?) {
        guard let failure else { return forget() }
        // An adapter that is absent, or is still being set up, is to be switched on when it is there.
        if thing.kind != .off, failure.status?.meansAbsence == true { forget() }
    }
}

extension ManagementStatus {
    /// Whether the thing to remove isn't there.
    var meansAbsence: Bool { self == .invalidParameters || self == .invalidIndex }
}
