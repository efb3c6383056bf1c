/// The switches that keep radios silent (rfkill), as sysfs shows them to everybody.
///
/// Source: kernel, `Documentation/ABI/stable/sysfs-class-rfkill`.
enum RadioSwitches {
    /// What keeps an adapter silent.
    enum Block: Hashable {
        /// A program: `rfkill unblock` lifts it.
        case soft
        /// A switch or key on the machine.
        case hard
    }

    private static let folder = "/sys/class/rfkill"

    /// What keeps the adapter of this name silent; `nil` where nothing does, or the system has no such switches.
    static func block(of adapter: String, on kernel: Kernel) -> Block? {
        for entry in namesInFolder(folder, of: kernel) {
            guard textFile("\(folder)/\(entry)/name", of: kernel) == adapter else { continue }
            if textFile("\(folder)/\(entry)/hard", of: kernel) == "1" { return .hard }
            if textFile("\(folder)/\(entry)/soft", of: kernel) == "1" { return .soft }
        }
        return nil
    }
}
