// The demo's objects, one for each test, so that tests don't meet in the same run; and what the demo's blueprint
// shows at its steps.

const M1 = ['muster', 'm1'];
const M2 = ['muster', 'm2'];

/** Customer, tenant, object number. */
export const OBJECTS = {
  /** 1190.00: two steps. */
  journey: [...M1, 'ER-1001'],
  reject: [...M1, 'ER-1007'],
  race: [...M1, 'ER-1008'],
  look: [...M1, 'ER-1006'],
  changed: [...M2, 'ER-1004'],
  erpDown: [...M2, 'ER-1001'],
  otherTenant: ['nord', 'a', 'ER-1001'],
  fourEyes: ['nord', 'b', 'ER-1001'],
  /** 89.90: nobody is asked. */
  small: [...M1, 'ER-1002'],
  /** 14994.00: the management is asked. */
  large: [...M1, 'ER-1005'],
  draft: [...M2, 'ER-1003'],
  language: ['nord', 'a', 'ER-1004'],
  /** One is decided, the other one comes next. */
  next: [['nord', 'a', 'ER-1003'], [...M1, 'ER-1003']],
  /** Receipts that can't be shown. */
  missingReceipt: [...M1, 'ER-1009'],
  htmlReceipt: [...M1, 'ER-1010'],
  brokenReceipt: [...M1, 'ER-1011'],
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
