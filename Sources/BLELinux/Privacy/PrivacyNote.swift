internal import BLEProtocol

/// Remembers, until the machine is restarted, with which key this user's programs have made an adapter private: the
/// kernel shows it only to root. The note doesn't contain the key itself.
struct PrivacyNote: Sendable {
    /// `nil` if there is no place for notes: then nothing is remembered.
    private let folder: NoteFolder?
    private let boot: String
    private let name: String

    init(of adapter: AdapterFacts, folder: NoteFolder?, boot: String) {
        name = "privacy-\(KernelThing.name(of: adapter))"
        self.folder = folder
        self.boot = boot
    }

    init(of adapter: AdapterFacts, on kernel: Kernel) {
        self.init(of: adapter, folder: .ofThisUser(of: kernel), boot: .currentBoot(of: kernel))
    }

    /// Whether it was this key.
    func tells(of key: SecretKey?) -> Bool {
        guard let key, let text = folder?.read(name) else { return false }
        return text == self.text(key)
    }

    /// Notes a key, or that there is none.
    func write(_ key: SecretKey?) {
        if let key { folder?.write(text(key), as: name) } else { folder?.remove(name) }
    }

    /// The hash of a key that can't be guessed reveals nothing.
    private func text(_ key: SecretKey) -> String {
        var hash = SHA256()
        hash.update(key.octets)
        return "\(boot)-" + hash.finish().prefix(8).map { String($0, radix: 16) }.joined(separator: ".")
    }
}
