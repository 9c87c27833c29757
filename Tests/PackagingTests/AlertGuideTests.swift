import Testing

/// The guide on monitoring says what to do for each alert.
@Suite struct AlertGuideTests {
    @Test func everyAlertHasARowAndNoOtherHas() throws {
        let file = try PackageFiles.text("deploy/observability/alerts.yaml")
        let alerts = file.matches(of: /- alert: (\w+)/).map { String($0.1) }
        #expect(!alerts.isEmpty)
        let guide = try PackageFiles.text("Sources/sallyport/Sallyport.docc/Run/Monitoring.md")
        let rows = guide.matches(of: /\n\| `(Sallyport\w+)` \| [^|]+ \| [^|]+ \|/).map { String($0.1) }
        #expect(rows.sorted() == alerts.sorted())
    }
}
