import BLEStreams

/// Prints a script that lets a shell complete commands and options.
struct Completions: Command {
    static let name = "completions"
    static let summary = "print the script with which bash or zsh completes commands and options"
    static let parameters = ["bash|zsh"]
    static let options: [Option] = []
    static let notes = """
        bash: source <(ble completions bash), or put it into ~/.local/share/bash-completion/completions/ble.

        zsh: ble completions zsh >~/.zfunc/_ble, with ~/.zfunc in fpath before compinit.
        """

    private let script: String

    init(_ arguments: Arguments) throws(UsageError) {
        try arguments.refuseAdapterUse(by: Self.name)
        try arguments.refuseJSON(of: Self.name)
        switch try arguments.parameters(Self.parameters)[0] {
        case "bash": script = CompletionScript.bash
        case "zsh": script = CompletionScript.zsh
        case let other: throw UsageError("'\(other)': write bash or zsh")
        }
    }

    func run(_ options: CommonOptions, _ log: Log) async throws {
        try Output(isJSON: false).write(Array(script.utf8))
    }

    /// Does nothing: no adapter is opened.
    func run(in environment: CommandEnvironment) async throws {}
}
