import BLEStreams

/// Completion scripts for shells, generated from the tables of commands and options.
enum CompletionScript {
    /// What an option's value can be completed with.
    private enum Completion {
        case files
        /// Behind `@`: it may also be something else than a file.
        case namedFiles
        case adapters
        case words([String])
        case nothing
    }

    private static func completion(of option: Option, _ value: String) -> Completion {
        if value.contains("@FILE") { return .namedFiles }
        if value.contains("FILE") || value == "FOLDER" { return .files }
        // The name of the value doesn't tell: LEVEL, for instance, is that of several options.
        switch option.name {
        case "secure": return .words(LinkSecurity.Level.allCases.map(\.rawValue))
        case "access": return .words(AccessRequirement.levels)
        case "claim": return .words(PairingClaim.allCases.map(\.rawValue))
        case "profile": return .words(servedProfiles.map { $0.name })
        default: break
        }
        switch value {
        case "hciN": return .adapters
        case "WHAT": return .words(["fast", "balanced", "lowPower"])
        case "MODE": return .words(["upload", "test", "confirm", "testAndConfirm"])
        default: return .nothing
        }
    }

    /// The fixed choices for a subcommand's first parameter, if any: `[on|off|cycle]`.
    private static func words(of command: any Command.Type) -> [String] {
        if command == HelpCommand.self { return commands.map { $0.name } }
        guard let first = command.parameters.first, first.contains("|"), !first.contains("FILE") else { return [] }
        return first.filter { $0 != "[" && $0 != "]" }.split(separator: "|").map(String.init)
    }

    /// What its parameters can be completed with, beside fixed choices.
    private static func files(of command: any Command.Type) -> Completion {
        if command.parameters.contains(where: { $0.contains("@FILE") }) { return .namedFiles }
        return command.parameters.contains { $0.contains("FILE") } ? .files : .nothing
    }

    // MARK: - bash

    static var bash: String {
        let cases = commands.map { command in
            let options = (command.options + Option.common).map { "--\($0.name)" }.joined(separator: " ")
            let words = words(of: command).joined(separator: " ")
            let fileForm =
                switch files(of: command) {
                case .files: "yes"
                case .namedFiles: "@"
                case .adapters, .words, .nothing: ""
                }
            return "        \(command.name)) options='\(options)' words='\(words)' files=\(fileForm) ;;"
        }
        let valued = Set(
            (commands.flatMap { $0.options } + Option.common).compactMap { option in
                option.value.map { "        --\(option.name)) \(bashValue(option, $0)) ;;" }
            }
        )
        let valuedBefore = Option.common.filter { $0.value != nil }.map { "--\($0.name)" }.joined(separator: "|")
        return """
            # Completes `ble` in bash: source it, or put it where bash-completion looks.
            _ble_named() {
                local name
                [ -n "$at" ] || return 0
                # As names of files, bash would quote the @, and then not know it.
                compopt +o filenames 2>/dev/null
                while IFS= read -r name; do
                    [ ! -d "$name" ] || { name+=/; compopt -o nospace 2>/dev/null; }
                    printf -v name %q "$name"
                    COMPREPLY+=("@$name")
                done < <(compgen -f -- "$1")
            }
            _ble() {
                local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
                local command= value= word options words files at=
                COMPREPLY=()
                # bash splits --adapter=hci0 into three words, --oob=@FILE too, and @FILE into two.
                case $previous in
                    @|=@) at=@ previous=${COMP_WORDS[COMP_CWORD-2]} ;;
                    =) previous=${COMP_WORDS[COMP_CWORD-2]} ;;
                esac
                case $current in
                    =@) at=@ current= ;;
                    @*) at=@ current=${current#@} ;;
                    =) current= ;;
                esac
                for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
                    case $value$word in
                        =|yes=|\(valuedBefore)) value=yes ;;
                        yes*) value= ;;
                        -*) ;;
                        *) command=$word; break ;;
                    esac
                done
                case $previous in
            \(valued.sorted().joined(separator: "\n"))
                esac
                case $command in
                    '') options='\((Option.common + [.version]).map { "--\($0.name)" }.joined(separator: " "))'
                        words='\(commands.map { $0.name }.joined(separator: " "))' ;;
            \(cases.joined(separator: "\n"))
                esac
                if [[ -z $at && $current == -* ]]; then
                    COMPREPLY=($(compgen -W "$options" -- "$current"))
                else
                    COMPREPLY=($(compgen -W "$words" -- "$current"))
                    case $files in
                        # A line each: their names may contain spaces.
                        yes) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$current") ;;
                        @) _ble_named "$current" ;;
                    esac
                fi
            }
            complete -o filenames -F _ble ble

            """
    }

    private static func bashValue(_ option: Option, _ value: String) -> String {
        switch completion(of: option, value) {
        case .files: "mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return"
        case .namedFiles: "_ble_named \"$current\"; return"
        case .adapters:
            "COMPREPLY=($(compgen -W \"all $(ls /sys/class/bluetooth 2>/dev/null)\" -- \"$current\")); return"
        case .words(let words): "COMPREPLY=($(compgen -W \"\(words.joined(separator: " "))\" -- \"$current\")); return"
        case .nothing: "return"
        }
    }

    // MARK: - zsh

    static var zsh: String {
        let list = commands.map { "        \(quoted("\($0.name):\($0.summary)"))" }.joined(separator: "\n")
        let cases = commands.map { command in
            let options = (command.options + Option.common).map { "                \(zshOption($0))" }
            let rest = words(of: command)
            let words = "'*:word:(\(rest.joined(separator: " ")))'"
            let parameter =
                switch files(of: command) {
                case _ where !rest.isEmpty: words
                case .files: "'*:file:_files'"
                case .namedFiles: "'*:file:\(zshNamedFiles)'"
                case .adapters, .words, .nothing: "'*: :'"
                }
            return "            \(command.name)) _arguments \\\n" + options.joined(separator: " \\\n")
                + " \\\n                \(parameter) ;;"
        }
        return """
            #compdef ble
            # Completes `ble` in zsh: call it _ble, in a folder of fpath.
            _ble() {
                local context state line
                local -a list
                list=(
            \(list)
                )
                _arguments -C \\
            \((Option.common + [.version]).map { "        \(zshOption($0))" }.joined(separator: " \\\n")) \\
                    '1:command:->command' '*::argument:->argument'
                case $state in
                    command) _describe command list ;;
                    argument)
                        case $line[1] in
            \(cases.joined(separator: "\n"))
                        esac ;;
                esac
            }
            _ble "$@"

            """
    }

    private static let zshNamedFiles = "{compset -P @ && _files}"

    private static func zshOption(_ option: Option) -> String {
        var text = "--\(option.name)"
        if option.value != nil { text += "=" }
        text += "[\(option.help.replacing("[", with: "(").replacing("]", with: ")"))]"
        if let value = option.value {
            text += ":\(value.replacing(":", with: " ")):"
            switch completion(of: option, value) {
            case .files: text += "_files"
            case .namedFiles: text += zshNamedFiles
            case .adapters: text += "(all $(ls /sys/class/bluetooth 2>/dev/null))"
            case .words(let words): text += "(\(words.joined(separator: " ")))"
            case .nothing: break
            }
        }
        return quoted(text)
    }

    private static func quoted(_ text: String) -> String { "'\(text.replacing("'", with: "'\\''"))'" }
}
