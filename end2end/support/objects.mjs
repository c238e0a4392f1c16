// The demo's objects, one for each test, so that tests don't meet in the same run; and what the demo's blueprint
// shows at its steps.

const M1 = ['muster', 'm1'];

export const OBJECTS = {
  journey: [...M1, 'ER-1001'],
  reject: [...M1, 'ER-1002'],
  race: [...M1, 'ER-1003'],
  erpDown: [...M1, 'ER-1004'],
  restart: [...M1, 'ER-1001'],
  look: [...M1, 'ER-1005'],
  draft: [...M1, 'ER-1006'],
  otherTenant: ['nord', 'a', 'ER-1001'],
  /** Receipts that can't be shown. */
  missingReceipt: [...M1, 'ER-1008'],
  htmlReceipt: [...M1, 'ER-1009'],
  brokenReceipt: [...M1, 'ER-1010'],
};

/** Fields of the first step, in the blueprint's order. */
export const FIRST_STEP_FIELDS = [
  'fldBelegNr',
  'fldLieferant',
  'fldRechnungsNr',
  'fldDat',
  'fldGesamtNetto',
  'fldGesamtBrutto',
  'fldKostenstelle',
  'fldVerwendung',
];
/** Those of them that can be edited. */
export const EDITABLE_FIELDS = ['fldKostenstelle', 'fldVerwendung'];
export const COST_CENTRE = 'fldKostenstelle';
