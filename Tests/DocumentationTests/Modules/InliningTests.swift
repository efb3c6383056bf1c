import Foundation
import Testing

/// What another module of the package can inline.
@Suite struct InliningTests {
    /// `@inlinable` has no effect on the members of a type that is only `package`: other modules call them as they are,
    /// and those of a generic type look up its metadata at each call. One such list made a read four times as costly.
    @Test func `a package type with inlinable members is usable from inline`() throws {
        let root = Package.folder.appending(path: "Sources").path
        let names = try FileManager.default.subpathsOfDirectory(atPath: root).filter {
            $0.hasSuffix(".swift") && !$0.contains(".docc/")
        }
        var (opaque, inlinable): (Set<String>, Set<String>) = ([], [])
        for name in names {
            let text = try String(contentsOfFile: "\(root)/\(name)", encoding: .utf8)
            let module = name.prefix { $0 != "/" }
            opaque.formUnion(Self.types(in: text).opaque.map { "\(module).\($0)" })
            inlinable.formUnion(Self.types(in: text).inlinable.map { "\(module).\($0)" })
        }
        #expect(!inlinable.isEmpty && opaque.isDisjoint(with: inlinable), "\(opaque.intersection(inlinable).sorted())")
    }

    @Test func `types are told apart by the attribute, on their line or the one above`() {
        let text = """
            package struct Plain {
                @inlinable init() {}
            }
            @usableFromInline
            package final class Above {}
            @usableFromInline package indirect enum Beside {}
            extension Above {
                @inlinable package func first() {}
            }
            struct Internal {}
            """
        let types = Self.types(in: text)
        #expect(types.opaque == ["Plain"])
        #expect(types.inlinable == ["Plain", "Above"])
    }

    /// The outermost types in a file that are `package` and not usable from inline, and those with inlinable members.
    private static func types(in text: String) -> (opaque: Set<String>, inlinable: Set<String>) {
        var (opaque, inlinable): (Set<String>, Set<String>) = ([], [])
        var current = ""
        var isUsable = false
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            let kinds: Set<Substring> = ["struct", "enum", "class", "actor", "protocol", "extension"]
            if line.hasPrefix(" ") {
                if words.first == "@inlinable" { inlinable.insert(current) }
            } else if line == "@usableFromInline" {
                isUsable = true
            } else if let kind = words.firstIndex(where: { kinds.contains($0) }), kind + 1 < words.count,
                !line.hasPrefix("/")
            {
                current = String(words[kind + 1].prefix { $0.isLetter || $0.isNumber || $0 == "_" })
                let isPackage = words[..<kind].contains("package") && words[kind] != "extension"
                if isPackage, !isUsable, !words[..<kind].contains("@usableFromInline") { opaque.insert(current) }
                isUsable = false
            }
        }
        return (opaque, inlinable)
    }
}
