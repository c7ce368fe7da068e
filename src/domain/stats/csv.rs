//! The days of each department as comma-separated values, for a spreadsheet.

use super::Stats;

const HEAD: &str = "date,department,runs,bad_runs,steps,ghosts,refusals,cost_usd,input_tokens,cache_read_tokens,\
output_tokens,calls_saved,cache_write_tokens\n";

/// A line for each day of each department, oldest first. Nothing in it needs quoting: numbers, dates and department
/// names, which hold no comma.
pub fn render_csv(departments: &[(String, Stats)]) -> String {
    let mut rows: Vec<(String, &str, String)> = Vec::new();
    for (dept, stats) in departments {
        for (date, day) in &stats.days {
            let numbers = format!(
                "{},{},{},{},{},{:.6},{},{},{},{},{}",
                day.runs,
                day.bad_runs,
                day.steps,
                day.ghosts,
                day.refusals,
                day.usd,
                day.tokens.input,
                day.tokens.cache_read,
                day.tokens.output,
                day.calls_saved,
                day.tokens.cache_write
            );
            rows.push((date.to_string(), dept, numbers));
        }
    }
    rows.sort();
    let lines = rows.iter().map(|(date, dept, numbers)| format!("{date},{dept},{numbers}\n"));
    HEAD.to_string() + &lines.collect::<String>()
}
