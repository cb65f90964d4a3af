internal import WebApps
internal import Testing

/// Tests of pages with places for values.
struct PageTemplateTests {
  private func html(_ template: String, _ values: PageTemplate.Values = [:]) -> String {
    PageTemplate(Array(template.utf8)).html(values)
  }

  @Test func aTextIsEscapedAndHTMLIsNot() {
    #expect(html("<p>{{a}}</p>{{&a}}", ["a": "<b>"]) == "<p>&lt;b&gt;</p><b>")
    #expect(html("<p>{{a}}{{b}}</p>", ["a": nil]) == "<p></p>")
  }

  @Test func valuesAreNoTemplates() {
    #expect(html("{{a}} {{&b}}", ["a": "{{b}}", "b": "{{#a}}x{{/a}}"]) == "{{b}} {{#a}}x{{/a}}")
  }

  @Test(arguments: [("x", "yes x"), ("", "no")])
  func aSectionStandsThereForAText(text: String, result: String) {
    #expect(html("{{#a}}yes {{a}}{{/a}}{{^a}}no{{/a}}", ["a": text]) == result)
  }

  @Test func aSectionStandsThereIfItIsTrue() {
    #expect(html("{{#a}}{{b}}{{/a}}{{#c}}{{b}}{{/c}}", ["a": true, "b": "x", "c": false]) == "x")
  }

  @Test func aSectionStandsThereForEachElement() {
    let list: [PageTemplate.Values] = [["b": "1"], ["b": "2", "c": [["d": "3"]]]]
    #expect(html("<{{#a}}{{b}}{{#c}}{{d}}{{/c}};{{/a}}>", ["a": list]) == "<1;23;>")
    #expect(html("{{#a}}x{{/a}}{{^a}}none{{/a}}", ["a": [PageTemplate.Values]()]) == "none")
  }

  @Test func linesOfTagsAreNoLines() {
    let template = "<ul>\n{{#a}}\n<li>{{b}}</li>\n{{/a}}\n{{^c}}\n<hr>\n{{/c}}\n</ul>\n"
    let list: [PageTemplate.Values] = [["b": "1"], ["b": "2"]]
    #expect(html(template, ["a": list]) == "<ul>\n<li>1</li>\n<li>2</li>\n<hr>\n</ul>")
  }
}
