import Testing

@Suite struct MarblesTests {
    @Test(arguments: ["a-b|", "(ab)--#", "a[long]b!", "-(a~b)?|"])
    func `a diagram says what was read from it`(diagram: String) {
        #expect(Marbles(diagram).description == diagram)
    }

    @Test func `a character is a second, and so is a group`() {
        let marbles = Marbles("a(bc)-d|")
        #expect(marbles.marks.map(\.second) == [0, 1, 1, 3, 4])
    }
}
